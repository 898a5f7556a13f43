#include <sinew/measure/joint_volume.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <sinew/core/parallel.h>
#include <sinew/geometry/volume.h>

namespace sinew {

namespace {

constexpr double kLeastShareOfSphere = 0.1;
// A patch that meets itself more often than this is broken.
constexpr std::size_t kMostPairs = std::size_t{1} << 20;

std::vector<Vec3f> chosen(std::span<const Vec3f> positions, std::span<const std::uint32_t> vertices) {
  std::vector<Vec3f> result;
  result.reserve(vertices.size());
  for (const std::uint32_t v : vertices) result.push_back(positions[v]);
  return result;
}

}  // namespace

JointVolumeMeter::JointVolumeMeter(const MeshView& rest, const SkinWeights& weights,
                                   std::span<const double> limb_radius, std::span<const Hinge> hinges)
    : radius_(hinges.size(), 0), patches_(hinges.size()) {
  const std::vector<std::vector<std::uint32_t>> near =
      vertices_nearest_to(rest, weights, hinges, limb_radius);
  for (std::size_t h = 0; h < hinges.size(); ++h) {
    std::vector<double> radii;
    for (const std::uint32_t v : near[h]) radii.push_back(limb_radius[v]);
    if (radii.empty()) continue;
    const auto middle = radii.begin() + static_cast<std::ptrdiff_t>(radii.size() / 2);
    std::nth_element(radii.begin(), middle, radii.end());
    radius_[h] = *middle;
  }
  std::vector<HingePatch> patches = hinge_patches(rest, weights, hinges, radius_);
  parallel_blocks(hinges.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t h = begin; h < end; ++h) {
      if (patches[h].vertices.empty()) continue;
      const std::vector<Vec3f> positions = chosen(rest.positions, patches[h].vertices);
      ClosedPatch patch{std::move(patches[h].vertices), SelfContactFinder({positions, patches[h].triangles}),
                        0};
      patch.rest_volume = patch.volume(rest.positions);
      const double sphere = 4 * std::numbers::pi / 3 * std::pow(patches[h].reach, 3);
      if (patch.rest_volume >= kLeastShareOfSphere * sphere) patches_[h] = std::move(patch);
    }
  });
}

double JointVolumeMeter::ClosedPatch::volume(std::span<const Vec3f> positions) const {
  std::vector<Vec3f> placed = contact.surface().place(chosen(positions, vertices));
  double result = enclosed_volume({placed, contact.surface().triangles});
  Pairs pairs = contact.pairs(placed, kMostPairs);
  // One connected piece that does not meet itself does not overlap itself.
  if (pairs && !pairs->empty()) result -= contact.find(std::move(placed), std::move(pairs)).overlap.total();
  return result;
}

std::vector<JointVolume> JointVolumeMeter::measure(std::span<const Vec3f> positions,
                                                   std::span<const std::uint32_t> bending) const {
  std::vector<JointVolume> volumes(bending.size());
  parallel_blocks(bending.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      volumes[i].hinge = bending[i];
      if (const std::optional<ClosedPatch>& patch = patches_[bending[i]])
        volumes[i].ratio = patch->volume(positions) / patch->rest_volume;
    }
  });
  volumes.erase(std::remove_if(volumes.begin(), volumes.end(),
                               [&](const JointVolume& volume) { return !has_patch(volume.hinge); }),
                volumes.end());
  return volumes;
}

}  // namespace sinew
