#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/surface_walk.h>
#include <sinew/projection/contact_projection.h>
#include <sinew/projection/elastic_relaxation.h>

namespace sinew {

/// All tuned constants of elastic skin.
struct ElasticParams {
  float reach = 0.5f;     ///< support radii of its bone over which a slide fades along the skin
  float settle = 0.05f;   ///< seconds by which sliding skin lags behind
  float strain = 0.5f;    ///< edges by which a vertex's slide may differ from its ring's
  int strain_sweeps = 3;  ///< that see to that
  int sweeps = 8;         ///< of ElasticRelaxation, a frame
  int first_rounds = 4;   ///< of sliding, at most, in the frame that skin begins with
};

/// What one performer's skin remembers, and scratch; made by ElasticSkin::make_state().
struct ElasticState {
  bool started = false;
  std::vector<WalkPoint> places;  ///< per vertex, where on the base skin it is

  RelaxationScratch relaxation;       ///< no history from here on
  std::vector<Vec3f> base;            ///< what carry() was given
  std::vector<float> scale;           ///< per vertex, how much larger than at rest its bones make it
  std::vector<std::uint32_t> active;  ///< vertices that slide(), the last time, might have moved
  std::vector<std::uint8_t> listed;
};

/// Skin that slides over what is under it (docs/elastic.md). It is stretched as evenly as its bones and its
/// contacts allow, and takes a moment to get there. What it remembers is where on the base skin each of its
/// vertices has slid to; so it never leaves the base skin but by contact.
class ElasticSkin {
 public:
  /// `freedom` per vertex: 1 for skin that slides, 0 for skin that does not. `contact` must outlive it.
  /// Throws Error for another number of them than vertices.
  ElasticSkin(const MeshView& rest, const ContactProjection& contact, std::span<const float> freedom,
              const ElasticParams& params);

  ElasticState make_state() const;
  /// Takes the base skin and puts in its place where the skin has slid on it.
  void carry(ElasticState& state, std::span<Vec3f> positions) const;
  /// After contact: slides on towards where the skin wants to be, as far as it comes in so many seconds.
  /// Shows from the next carry() on. `rest` is what the pose deforms: morphs may have changed it.
  void slide(const ContactFrame& frame, std::span<const Vec3f> rest, std::span<const Vec3f> positions,
             double seconds, ElasticState& state) const;

  const ElasticParams& params() const { return params_; }

 private:
  /// Lists the vertices that are pulled at or have slid, and some rings round them, with what the relaxation
  /// must know of them.
  void find_active(const ContactFrame& frame, std::span<const Vec3f> rest, std::span<const Vec3f> positions,
                   ElasticState& state) const;
  /// Shortens or turns `moves` so that no slide differs from its ring's by more than `strain`.
  void limit_strain(ElasticState& state) const;

  ElasticParams params_;
  const ContactSkin& skin_;
  std::vector<float> anchor_;  // per vertex, metres
  SurfaceWalk walk_;
  ElasticRelaxation relaxation_;
};

}  // namespace sinew
