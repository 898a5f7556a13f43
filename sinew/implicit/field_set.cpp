#include <sinew/implicit/field_set.h>

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <Eigen/LU>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {

namespace {

constexpr double kFlattest = 1e-9;  // volume of a transformed cube, of a box of its edges' lengths

/// Whether a row of a 3×4 matrix may take a point of a box into [low, high]. Written so that it may for boxes
/// that are not finite.
bool meets(const float* row, const Vec3f& center, const Vec3f& half, float low, float high) {
  const float middle = row[0] * center.x() + row[1] * center.y() + row[2] * center.z() + row[3];
  // Far from the origin samples are rounded by as much; 8 units in the last place are twice what can come.
  const float rounding = 8 * std::numeric_limits<float>::epsilon();
  const float size =
      std::abs(row[0] * center.x()) + std::abs(row[1] * center.y()) + std::abs(row[2] * center.z());
  const float reach = (1 + rounding) * (std::abs(row[0]) * half.x() + std::abs(row[1]) * half.y() +
                                        std::abs(row[2]) * half.z()) +
                      rounding * (size + std::abs(row[3]));
  return !(middle + reach < low || middle - reach > high);
}

/// Puts a box round what a posed field's grid holds. A little larger, for samples are rounded.
void bound(const Affine3d& world_from_grid, PosedField& field) {
  const Vec3d low = Vec3f(field.grid->low().data()).cast<double>();
  const Vec3d high = Vec3f(field.grid->high().data()).cast<double>();
  const Vec3d middle = world_from_grid * ((low + high) / 2);
  const Vec3d half = world_from_grid.linear().cwiseAbs() * ((high - low) / 2);
  const double rounding = 1e-5 * (half.maxCoeff() + middle.cwiseAbs().maxCoeff());
  field.low = (middle - half).array().cast<float>() - static_cast<float>(rounding);
  field.high = (middle + half).array().cast<float>() + static_cast<float>(rounding);
}

bool in_range(const Muscle& muscle, std::size_t fields, std::size_t transforms) {
  return muscle.host < fields && muscle.origin_transform < transforms &&
         muscle.insertion_transform < transforms && muscle.driver_transform < transforms &&
         muscle.driver_parent_transform < transforms;
}

}  // namespace

std::vector<std::int32_t> fields_of_transforms(const FieldSet& set) {
  if (!set.field_of_transform.empty()) return set.field_of_transform;
  std::vector<std::int32_t> result;
  for (std::size_t f = 0; f < set.transform.size(); ++f) {
    if (set.transform[f] >= result.size()) result.resize(std::size_t{set.transform[f]} + 1, -1);
    result[set.transform[f]] = static_cast<std::int32_t>(f);
  }
  return result;
}

bool PosedField::muscles_cover(const Vec3f& at) const {
  for (std::uint32_t i = 0; i < muscle_count; ++i)
    if (muscles[i].covers(at)) return true;
  return false;
}

FieldSample PosedField::with_muscles(FieldSample bone, const Vec3f& at) const {
  for (std::uint32_t i = 0; i < muscle_count; ++i) bone = merge_muscle(bone, muscles[i].sample(at));
  return bone;
}

void check_muscles(const FieldSet& set, std::size_t transforms) {
  std::vector<std::size_t> count(set.fields.size(), 0);
  for (std::size_t i = 0; i < set.muscles.size(); ++i) {
    const Muscle& muscle = set.muscles[i];
    if (!in_range(muscle, set.fields.size(), transforms))
      throw Error(fmt::format("muscle {}: a field or transform of it is none of {} fields and {} transforms",
                              i, set.fields.size(), transforms));
    const auto positive = [](double value) { return value > 0 && std::isfinite(value); };
    if (!muscle.origin.allFinite() || !muscle.insertion.allFinite() || !muscle.outwards.allFinite() ||
        !muscle.driver_bone.allFinite() || !std::isfinite(muscle.lift))
      throw Error(fmt::format("muscle {}: a place or direction of it is not finite", i));
    if (!positive(muscle.radius) || !positive(1 + muscle.swell) || !positive(muscle.full_angle))
      throw Error(
          fmt::format("muscle {}: radius {}, swell {}, full angle {}: it needs a radius above 0 at "
                      "any bend, and an angle above 0",
                      i, muscle.radius, muscle.swell, muscle.full_angle));
    if (++count[muscle.host] > PosedField::kMostMuscles)
      throw Error(fmt::format("muscle {}: field {} has more than {} muscles", i, muscle.host,
                              PosedField::kMostMuscles));
  }
}

void pose_fields(const FieldSet& set, std::span<const Affine3d> posed_from_rest,
                 std::span<PosedField> posed) {
  for (std::size_t f = 0; f < set.fields.size(); ++f) {
    const FieldGrid& grid = set.fields[f].grid;
    PosedField& field = posed[f];
    field.grid = &grid;
    field.muscle_count = 0;
    const Affine3d& transform = posed_from_rest[set.transform[f]];
    const Affine3d grid_from_world = grid.grid_from_rest() * transform.inverse();
    // What is flat up to rounding has an inverse, too, but not one that means anything.
    const double flatness = kFlattest * transform.linear().colwise().norm().prod();
    field.usable = std::abs(transform.linear().determinant()) > flatness &&
                   grid_from_world.matrix().allFinite() &&
                   grid_from_world.matrix().cwiseAbs().maxCoeff() < 1e15;
    if (!field.usable) {
      field.grid_from_world = {0, 0, 0, -1, 0, 0, 0, -1, 0, 0, 0, -1};  // every point is outside
      continue;
    }
    for (int row = 0; row < 3; ++row)
      for (int column = 0; column < 4; ++column)
        field.grid_from_world[to_size(4 * row + column)] = static_cast<float>(grid_from_world(row, column));
    bound(transform * grid.grid_from_rest().inverse(), field);
  }
  for (const Muscle& muscle : set.muscles) {
    if (!in_range(muscle, set.fields.size(), posed_from_rest.size())) continue;
    PosedField& host = posed[muscle.host];
    if (!host.usable || host.muscle_count == PosedField::kMostMuscles) continue;
    if (!pose_muscle(muscle, set.fields[muscle.host].radius, posed_from_rest[set.transform[muscle.host]],
                     posed_from_rest, host.muscles[host.muscle_count]))
      continue;
    ++host.muscle_count;
    // Wherever that may lie.
    host.low.setConstant(-std::numeric_limits<float>::infinity()), host.high = -host.low;
  }
}

bool reaches(const PosedField& field, const Vec3f& low, const Vec3f& high) {
  if (!field.usable || !may_reach(field, low, high)) return false;
  const Vec3f center = (low + high) / 2, half = (high - low) / 2;
  const auto all_rows = [&](const std::array<float, 12>& m, const std::array<float, 3>& from,
                            const std::array<float, 3>& to) {
    return meets(m.data(), center, half, from[0], to[0]) &&
           meets(m.data() + 4, center, half, from[1], to[1]) &&
           meets(m.data() + 8, center, half, from[2], to[2]);
  };
  if (all_rows(field.grid_from_world, field.grid->low(), field.grid->high())) return true;
  for (std::uint32_t i = 0; i < field.muscle_count; ++i) {
    const PosedMuscle& muscle = field.muscles[i];
    const float reach = muscle.reach;
    if (all_rows(muscle.ball_from_world, {-reach, -reach, -reach}, {reach, reach, reach})) return true;
  }
  return false;
}

FieldSample sample(const FieldSet& set, std::span<const PosedField> posed, const Vec3f& at) {
  std::vector<FieldSample> samples(posed.size());
  for (std::size_t f = 0; f < posed.size(); ++f)
    if (posed[f].usable) samples[f] = posed[f].sample(at);
  return set.tree.compose(samples);
}

}  // namespace sinew
