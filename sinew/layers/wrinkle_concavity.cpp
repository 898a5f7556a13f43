#include <sinew/layers/wrinkle_concavity.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <sinew/core/index.h>
#include <sinew/core/rotation.h>

namespace sinew {

namespace {

/// The turn about an axis of unit length that is in a rotation, from -π to π.
double turn_about(const Vec3d& axis, const Quatd& rotation) {
  const double sign = rotation.w() < 0 ? -1 : 1;
  return 2 * std::atan2(sign * rotation.vec().dot(axis), sign * rotation.w());
}

/// How far a normal leans from `up` against the way `along`, both of unit length, from -π to π: what flanks
/// of a valley do towards its end.
double inward_turn(const Vec3d& normal, const Vec3d& up, const Vec3d& along) {
  return -std::atan2(normal.dot(along), normal.dot(up));
}

/// A turn brought to between -π/2 and π/2: as it is when small, less again beyond a quarter turn, so that it
/// does not jump where half a turn one way becomes half a turn the other way.
double tamed(double turn) {
  turn = std::remainder(turn, 2 * std::numbers::pi);
  if (std::abs(turn) <= std::numbers::pi / 2) return turn;
  return std::copysign(std::numbers::pi - std::abs(turn), turn);
}

/// Normals at rest of the vertices of a region's triangles, zero elsewhere.
std::vector<Vec3d> rest_normals(const Character& character, const WrinkleRegion& region) {
  std::vector<Vec3d> normals(character.rest().size(), Vec3d::Zero());
  for (const std::uint32_t t : region.triangles) {
    const Triangle& triangle = character.triangles()[t];
    const Vec3d a = character.rest()[triangle[0]].cast<double>();
    const Vec3d normal = (character.rest()[triangle[1]].cast<double>() - a)
                             .cross(character.rest()[triangle[2]].cast<double>() - a);
    for (const std::uint32_t v : triangle) normals[v] += normal;
  }
  return normals;
}

}  // namespace

WrinkleConcavity::WrinkleConcavity(const Character& character, const WrinkleRegion& region,
                                   std::uint32_t start, double side) {
  const SkinWeights& weights = character.skin_weights();
  bindings_ = {weights.row_joints(start)[0]};
  const auto number_of = [&](std::uint32_t binding) {
    const auto found = std::find(bindings_.begin(), bindings_.end(), binding);
    const auto number = static_cast<std::uint32_t>(found - bindings_.begin());
    if (found == bindings_.end()) bindings_.push_back(binding);
    return number;
  };
  const std::vector<Vec3d> vertex_normals = rest_normals(character, region);
  for (std::size_t p = 0; p < paths_.size(); ++p) {
    Path& path = paths_[p];
    std::vector<Vec3d> normals;
    for (const SurfacePoint& point : path_of(region, p)) {
      Vec3d normal = Vec3d::Zero();
      for (std::size_t c = 0; c < 3; ++c) {
        const std::uint32_t v = point.corners[c];
        vertices_.push_back(v);
        normal += side * point.weights[c] * vertex_normals[v];
        for (std::size_t k = 0; k < weights.row_size(v); ++k) {
          path.bindings.push_back(number_of(weights.row_joints(v)[k]));
          path.weights.push_back(point.weights[c] * static_cast<double>(weights.row_values(v)[k]));
        }
      }
      path.starts.push_back(static_cast<std::uint32_t>(path.bindings.size()));
      normals.push_back(normal.norm() > 0 ? Vec3d(normal.normalized()) : region.normal);
    }
    path.at_rest.resize(normals.size());
    find_inward_turns(normals, region.across.normalized(), path.at_rest);
    const double first = inward_turn(normals[0], region.normal, region.along.normalized());
    for (double& turn : path.at_rest) turn += first;
  }
}

bool WrinkleConcavity::is_mirrored(const LayerFrame& frame) const {
  return frame.posed_from_rest[bindings_[0]].linear().determinant() < 0;
}

WrinkleConcavity::State WrinkleConcavity::make_state() const {
  const std::size_t points = paths_[0].at_rest.size();
  State state;
  state.angles.resize(bindings_.size());
  state.lengths.resize(points);
  state.turns.resize(points);
  for (std::vector<double>& tightness : state.tightness) tightness.resize(points);
  return state;
}

WrinkleConcavity::Axes WrinkleConcavity::find_axes(const WrinkleRegion& region, const LayerFrame& frame,
                                                   std::vector<double>& angles) const {
  const Mat3d start = frame.posed_from_rest[bindings_[0]].linear();
  const Mat3d back = start.inverse();
  Axes axes;
  Vec3d across = start * region.across;
  axes.usable = back.allFinite() && across.allFinite() && across.norm() > 0;
  if (axes.usable) across.normalize();
  const double sign = is_mirrored(frame) ? -1 : 1;  // a mirror turns turns round
  axes.along = start * region.along;
  axes.along -= axes.along.dot(across) * across;
  if (axes.along.norm() > 0) axes.along.normalize();
  axes.up = sign * axes.along.cross(across);
  for (std::size_t b = 0; b < bindings_.size(); ++b) {
    const Mat3d turned = frame.posed_from_rest[bindings_[b]].linear() * back;
    angles[b] =
        axes.usable && turned.allFinite() ? sign * turn_about(across, rotation_of(Affine3d(turned))) : 0;
  }
  return axes;
}

double WrinkleConcavity::corrected_turn(double by_joints, const Vec3d& normal, const Axes& axes) {
  if (!axes.usable || !(normal.norm() > 0)) return by_joints;
  return by_joints + tamed(inward_turn(normal, axes.up, axes.along) - by_joints);
}

double WrinkleConcavity::tightness_at(const State& state, const WrinkleVertex& vertex) {
  const double at = vertex.along * static_cast<double>(state.turns.size() - 1);
  const auto point = std::min(to_size(at), state.turns.size() - 2);
  const double t = at - static_cast<double>(point);
  const auto along = [&](std::size_t path) {
    return (1 - t) * state.tightness[path][point] + t * state.tightness[path][point + 1];
  };
  const double side = std::min(std::abs(vertex.across) / WrinkleRegion::kSidePath, 1.0);
  return (1 - side) * along(1) + side * along(vertex.across < 0 ? 0 : 2);
}

}  // namespace sinew
