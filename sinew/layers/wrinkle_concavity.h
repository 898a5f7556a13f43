#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/character/character.h>
#include <sinew/core/held_bytes.h>
#include <sinew/effects/wrinkle_region.h>

namespace sinew {

/// How tightly the skin under a wrinkle tool is rolled up, along three paths: beside the segment on the left,
/// under it, and on the right. What folds there may rise to (find_fold_tightness) depends on how far the
/// paths turn inwards. That is told by the turns of the joints that carry them, and by what the skin's
/// normals differ from these; normals alone would not do: where skin goes through itself they point anywhere.
class WrinkleConcavity {
 public:
  WrinkleConcavity() = default;
  /// `start`: the vertex where the tool starts. `side`: -1 where triangles face inwards.
  WrinkleConcavity(const Character& character, const WrinkleRegion& region, std::uint32_t start, double side);

  /// The vertices whose normals find() asks for: corners of the triangles that the paths' points lie in.
  std::span<const std::uint32_t> vertices() const { return vertices_; }
  /// Whether the joint that carries the start of the tool mirrors it in this frame.
  bool is_mirrored(const LayerFrame& frame) const;

  struct State {
    std::vector<double> angles;  ///< of the bindings
    std::vector<double> lengths, turns;
    std::array<std::vector<double>, 3> tightness;  ///< per path and point, per metre
    std::size_t bytes() const {
      return held_bytes(angles, lengths, turns, tightness[0], tightness[1], tightness[2]);
    }
  };
  State make_state() const;

  /// `normal_of`: outward normals, at most of unit length, by place in vertices(). Allocates nothing.
  template <class NormalOf>
  void find(const WrinkleRegion& region, const LayerFrame& frame, std::span<const Vec3f> positions,
            const NormalOf& normal_of, State& state) const;

  /// At a vertex of the region: between the paths, and between their points.
  static double tightness_at(const State& state, const WrinkleVertex& vertex);

 private:
  struct Path {
    std::vector<double> at_rest;           // inward turn per point, from the region's normal
    std::vector<std::uint32_t> starts{0};  // per point, its influences
    std::vector<std::uint32_t> bindings;   // numbers in bindings_
    std::vector<double> weights;
  };
  /// The tool's axes in a frame, and the turns of its bindings about the one across.
  struct Axes {
    Vec3d up = Vec3d::Zero(), along = Vec3d::Zero();
    bool usable = false;
  };
  Axes find_axes(const WrinkleRegion& region, const LayerFrame& frame, std::vector<double>& angles) const;
  static double corrected_turn(double by_joints, const Vec3d& normal, const Axes& axes);
  static const std::vector<SurfacePoint>& path_of(const WrinkleRegion& region, std::size_t number) {
    return number == 1 ? region.path : region.side_paths[number / 2];
  }

  std::array<Path, 3> paths_;
  std::vector<std::uint32_t> bindings_;  // of the character; the first is that of the start
  std::vector<std::uint32_t> vertices_;  // three per point, path after path
};

template <class NormalOf>
void WrinkleConcavity::find(const WrinkleRegion& region, const LayerFrame& frame,
                            std::span<const Vec3f> positions, const NormalOf& normal_of, State& state) const {
  const Axes axes = find_axes(region, frame, state.angles);
  std::size_t corner = 0;
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    const std::vector<SurfacePoint>& path = path_of(region, p);
    const Path& own = paths_[p];
    Vec3d last = path[0].at(positions);
    for (std::size_t i = 0; i < path.size(); ++i) {
      const Vec3d point = path[i].at(positions);
      state.lengths[i] = (i == 0 ? 0 : state.lengths[i - 1]) + (point - last).norm();
      last = point;
      double turn = own.at_rest[i];
      for (std::uint32_t k = own.starts[i]; k < own.starts[i + 1]; ++k)
        turn -= own.weights[k] * state.angles[own.bindings[k]];
      Vec3d normal = Vec3d::Zero();
      for (std::size_t c = 0; c < 3; ++c) normal += path[i].weights[c] * normal_of(corner++);
      state.turns[i] = corrected_turn(turn, normal, axes);
    }
    find_fold_tightness(state.lengths, state.turns, state.tightness[p]);
  }
}

}  // namespace sinew
