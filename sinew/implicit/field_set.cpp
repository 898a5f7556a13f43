#include <sinew/implicit/field_set.h>

#include <cmath>
#include <limits>

#include <Eigen/LU>

namespace sinew {

namespace {

constexpr double kFlattest = 1e-9;  // volume of a transformed cube, of a box of its edges' lengths

}  // namespace

void pose_fields(const FieldSet& set, std::span<const Affine3d> posed_from_rest,
                 std::span<PosedField> posed) {
  for (std::size_t f = 0; f < set.fields.size(); ++f) {
    const FieldGrid& grid = set.fields[f].grid;
    PosedField& field = posed[f];
    field.grid = &grid;
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
        field.grid_from_world[static_cast<std::size_t>(4 * row + column)] =
            static_cast<float>(grid_from_world(row, column));
  }
}

bool reaches(const PosedField& field, const Vec3f& low, const Vec3f& high) {
  if (!field.usable) return false;
  const Vec3f center = (low + high) / 2, half = (high - low) / 2;
  for (std::size_t row = 0; row < 3; ++row) {
    const float* m = field.grid_from_world.data() + 4 * row;
    const float middle = m[0] * center.x() + m[1] * center.y() + m[2] * center.z() + m[3];
    // Far from the origin samples are rounded by as much; 8 units in the last place are twice what can come.
    const float rounding = 8 * std::numeric_limits<float>::epsilon();
    const float size =
        std::abs(m[0] * center.x()) + std::abs(m[1] * center.y()) + std::abs(m[2] * center.z());
    const float reach =
        (1 + rounding) * (std::abs(m[0]) * half.x() + std::abs(m[1]) * half.y() + std::abs(m[2]) * half.z()) +
        rounding * (size + std::abs(m[3]));
    // Written so that boxes that are not finite are reached.
    if (middle + reach < field.grid->low()[row] || middle - reach > field.grid->high()[row]) return false;
  }
  return true;
}

FieldSample sample(const FieldSet& set, std::span<const PosedField> posed, const Vec3f& at) {
  std::vector<FieldSample> samples(posed.size());
  for (std::size_t f = 0; f < posed.size(); ++f)
    if (posed[f].usable) samples[f] = posed[f].sample(at);
  return set.tree.compose(samples);
}

}  // namespace sinew
