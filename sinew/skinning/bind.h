#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>
#include <sinew/skeleton/bones.h>
#include <sinew/skeleton/joint_sides.h>
#include <sinew/skinning/heat_weights.h>
#include <sinew/skinning/weights.h>

namespace sinew {

enum class BindMethod {
  heat,      ///< heat diffused over the surface from the nearest bone: smooth, follows the shape
  rigid,     ///< each vertex follows one joint: the one with the most heat
  envelope,  ///< by distance to the bones alone, without looking at the surface
};

/// Weights that come out the same on both sides.
struct BindSymmetry {
  MirrorPlane plane;
  std::vector<int> partner;  ///< per joint, the joint on the other side; itself on the plane; -1: has none
};

struct BindOptions {
  BindMethod method = BindMethod::heat;
  std::size_t influences = 4;  ///< most joints per vertex; 0: all
  double prune = 0.01;         ///< weights below this are dropped; in [0, 0.5]
  double sharpness = 2;        ///< of methods heat and rigid, see HeatOptions; in [1, 8]
  int smooth = 0;              ///< passes of smoothing over the surface after the method, in [0, 1000]
  std::optional<BindSymmetry> symmetry;
  /// Weights that must stay as they are: one row per vertex, each summing to at most 1 (up to rounding), of
  /// joints that have no bone in `bones`. The other joints share what is left; where the locked ones take all
  /// `influences`, the lightest of them gives way to the heaviest other. Empty: none.
  SkinWeights locked;
};

/// What binding had to work around. Counts are of the surface's vertices.
struct BindReport {
  std::size_t vertices = 0;
  HeatReport heat;                    ///< of methods heat and rigid
  std::size_t mirrored_vertices = 0;  ///< found their counterpart on the other side
  std::size_t unmirrored_vertices = 0;
  std::size_t unbound_vertices = 0;  ///< without weights; 0 unless something is wrong with this library
  std::vector<int> unused_joints;    ///< have a bone, but no vertex follows them
};

/// Weights for any surface: every row sums to 1, without negative or undefined numbers, heaviest first, at
/// most `influences` long. Joint numbers are Bone::joint. Copes with non-manifold edges, borders, duplicate
/// and degenerate triangles, pieces that see no bone, bones outside of the surface, any scale. `surface` is
/// welded (geometry/weld.h): what is split at seams counts as cut there. Throws Error when there is no bone,
/// a position or bone is not finite, an option is out of range, or the locked rows do not fit. `oriented` is
/// of the surface, for callers that have it already.
SkinWeights bind_surface(const MeshView& surface, std::span<const Bone> bones,
                         const BindOptions& options = {}, BindReport* report = nullptr,
                         const OrientedSurface* oriented = nullptr);

}  // namespace sinew
