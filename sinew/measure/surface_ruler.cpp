#include <sinew/measure/surface_ruler.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <queue>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/limb_radius.h>
#include <sinew/geometry/volume.h>
#include <sinew/measure/flips.h>
#include <sinew/measure/fold_contact.h>

namespace sinew {

namespace {

// A volume smaller than this share of the bounding box is that of a sheet.
constexpr double kLeastVolumeShare = 1e-6;
// Nearer to a hinge than so many limb radii skin is bound to change its shape.
constexpr double kNearRadii = 2;
// Skin within so many limb radii of a contact is bent by it.
constexpr double kRimRadii = 0.5;

/// Marks vertices within two limb radii of a hinge, their own or the hinge's, whichever is larger.
std::vector<std::uint8_t> vertices_near(std::span<const Hinge> hinges, const JointVolumeMeter& radii,
                                        std::span<const Vec3f> positions,
                                        std::span<const double> limb_radius) {
  std::vector<std::uint8_t> near(positions.size(), 0);
  parallel_blocks(positions.size(), 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      for (std::uint32_t h = 0; h < hinges.size() && !near[v]; ++h) {
        const double reach = kNearRadii * std::max(limb_radius[v], radii.radius(h));
        near[v] = (positions[v].cast<double>() - hinges[h].position).squaredNorm() <= reach * reach;
      }
  });
  return near;
}

/// Marks vertices and those round each of them, as far along edges as so many of its limb radii, its ring at
/// least.
void spread_over(std::span<const Vec3f> positions, const OneRings& rings, std::span<const double> limb_radius,
                 double radii, std::span<const std::uint32_t> from, std::vector<std::uint8_t>& marks) {
  // What is left of the distance at each vertex: the longest counts.
  std::vector<double> left(positions.size(), 0);
  std::priority_queue<std::pair<double, std::uint32_t>> next;
  for (const std::uint32_t v : from) {
    marks[v] = 1;
    for (const std::uint32_t n : rings[v]) marks[n] = 1;
    left[v] = radii * limb_radius[v];
    next.emplace(left[v], v);
  }
  while (!next.empty()) {
    const auto [remaining, v] = next.top();
    next.pop();
    if (remaining < left[v]) continue;
    marks[v] = 1;
    for (const std::uint32_t n : rings[v]) {
      const double there = remaining - static_cast<double>((positions[n] - positions[v]).norm());
      if (there > left[n]) left[n] = there, next.emplace(there, n);
    }
  }
}

}  // namespace

SurfaceRuler::SurfaceRuler(const MeshView& rest, SharedWeights weights, const SurfaceRulerOptions& options)
    : options_(options),
      rest_positions_(rest.positions.begin(), rest.positions.end()),
      weights_(std::move(weights)),
      used_(rest.positions.size(), 0) {
  if (weights_->rows() != 0 && weights_->rows() != rest.positions.size())
    throw Error(fmt::format("{} rows of weights for {} vertices", weights_->rows(), rest.positions.size()));
  if (weights_->rows() == 0 && !options_.hinges.empty())
    throw Error(fmt::format("{} hinges, but no weights", options_.hinges.size()));
  for (const Hinge& hinge : options_.hinges) {
    if (!hinge.position.allFinite())
      throw Error(fmt::format("hinge '{}': its position is not finite", hinge.name));
    rest_.hinges.push_back(hinge.name);
  }
  std::vector<Triangle> triangles;
  for (std::size_t t = 0; t < rest.triangles.size(); ++t) {
    const Triangle& f = rest.triangles[t];
    for (const std::uint32_t v : f)
      if (v >= rest.positions.size())
        throw Error(
            fmt::format("triangle {}: vertex {} does not exist ({} vertices)", t, v, rest.positions.size()));
    if (f[0] == f[1] || f[1] == f[2] || f[2] == f[0]) {
      ++rest_.unusable_triangles;
      continue;
    }
    triangles.push_back(f);
    for (const std::uint32_t v : f) used_[v] = 1;
  }
  check(rest_positions_);
  // So that nothing that looks at all positions stumbles over one that nobody uses.
  for (std::size_t v = 0; v < used_.size(); ++v)
    if (!used_[v]) rest_positions_[v].setZero();
  rings_ = one_rings(rest.positions.size(), triangles);
  contact_ = std::make_unique<SelfContactFinder>(MeshView{rest_positions_, triangles});
  const ClosedSurface& surface = contact_->surface();
  stretch_ = std::make_unique<StretchMeter>(view(rest_positions_));
  curvature_ = std::make_unique<CurvatureMeter>(view(rest_positions_));
  limb_radius_ = sinew::limb_radius(view(rest_positions_),
                                    std::span<const std::uint32_t>(surface.part.data(), triangles.size()));
  joint_volume_ =
      std::make_unique<JointVolumeMeter>(view(rest_positions_), *weights_, limb_radius_, options_.hinges);
  near_hinge_ = vertices_near(options_.hinges, *joint_volume_, rest_positions_, limb_radius_);

  SelfContact contact = find_contact(rest_positions_);
  rest_outside_ = std::move(contact.burial.outside);
  rest_.overlap = contact.overlap;
  rest_.pairs_known = contact.pairs.has_value();
  if (contact.pairs) {
    contact.pairs->resize(contact.surface_pairs);
    rest_pairs_ = std::move(*contact.pairs);
  }
  rest_.parts = surface.part_count;
  rest_.open_borders = surface.borders.size();
  rest_.unused_vertices = to_size(std::count(used_.begin(), used_.end(), 0));
  rest_.slivers = stretch_->slivers_at_rest();
  rest_.intersecting_pairs = rest_pairs_.size();
  rest_.buried_vertices =
      to_size(std::count_if(rest_outside_.begin(), rest_outside_.end(), [](double w) { return w > 0.5; }));
  rest_.volume = enclosed_volume({contact.placed, surface.triangles});
  rest_.mean_edge = stretch_->mean_edge();
  Eigen::AlignedBox3d box;
  for (const Triangle& f : triangles)
    for (const std::uint32_t v : f) box.extend(rest_positions_[v].cast<double>());
  rest_.volume_known = !triangles.empty() && std::abs(rest_.volume) > kLeastVolumeShare * box.volume() &&
                       std::isfinite(rest_.volume);

  if (triangles.empty()) rest_.caveats.push_back("the surface has no triangles: nothing is measured");
  if (rest_.open_borders > 0)
    rest_.caveats.push_back(
        fmt::format("the surface is open: its borders ({}) are closed by fans for volume, overlap and burial",
                    rest_.open_borders));
  if (!triangles.empty() && !rest_.volume_known)
    rest_.caveats.push_back("the surface encloses no volume at rest: its ratio says nothing");
  if (rest_.volume_known && rest_.volume < 0)
    rest_.caveats.push_back("the surface faces inwards: overlap and burial are not what they seem");
  if (!contact.pairs)
    rest_.caveats.push_back(
        "too many triangles intersect at rest: pairs and overlap are unknown there, and what is new since"
        " then is not told apart");
}

MeshView SurfaceRuler::view(std::span<const Vec3f> positions) const {
  const ClosedSurface& surface = contact_->surface();
  return {positions, std::span<const Triangle>(surface.triangles.data(), surface.triangle_count)};
}

void SurfaceRuler::check(std::span<const Vec3f> positions) const {
  if (positions.size() != used_.size())
    throw Error(fmt::format("{} positions for {} vertices", positions.size(), used_.size()));
  for (std::size_t v = 0; v < positions.size(); ++v)
    if (used_[v] && !positions[v].allFinite())
      throw Error(fmt::format("vertex {}: position ({}, {}, {}) is not finite", v, positions[v].x(),
                              positions[v].y(), positions[v].z()));
}

SelfContact SurfaceRuler::find_contact(std::span<const Vec3f> positions, bool with_overlap) const {
  std::vector<Vec3f> placed = contact_->surface().place(positions);
  Pairs pairs = contact_->pairs(placed, options_.most_pairs);
  return contact_->find(std::move(placed), std::move(pairs), with_overlap);
}

std::span<const Vec3f> SurfaceRuler::clean(std::span<const Vec3f> positions,
                                           std::vector<Vec3f>& cleaned) const {
  if (rest_.unused_vertices == 0) return positions;
  cleaned.assign(positions.begin(), positions.end());
  for (std::size_t v = 0; v < used_.size(); ++v)
    if (!used_[v]) cleaned[v].setZero();
  return cleaned;
}

std::vector<std::uint32_t> SurfaceRuler::newly_buried(const Burial& burial) const {
  std::vector<std::uint32_t> vertices;
  for (std::uint32_t v = 0; v < burial.outside.size(); ++v)
    if (burial.vertex(v) && burial.outside[v] > 0.5 + std::max(0.0, rest_outside_[v])) vertices.push_back(v);
  return vertices;
}

std::vector<std::uint32_t> SurfaceRuler::newly_buried(std::span<const Vec3f> positions) const {
  check(positions);
  std::vector<Vec3f> cleaned;
  return newly_buried(find_contact(clean(positions, cleaned), false).burial);
}

ContactGaps SurfaceRuler::gaps(std::span<const Vec3f> positions,
                               std::span<const std::uint32_t> vertices) const {
  check(positions);
  std::vector<Vec3f> cleaned;
  positions = clean(positions, cleaned);
  const std::vector<Vec3f> placed = contact_->surface().place(positions);
  return contact_gaps(view(positions), FittedTriangleTree(contact_->tree(), placed), vertices);
}

void SurfaceRuler::measure_hinges(std::span<const Vec3f> positions, std::span<const Affine3d> posed_from_rest,
                                  const SelfContact& contact, std::span<const std::uint32_t> flipped,
                                  SurfaceMeasurements& frame) const {
  std::vector<std::uint32_t> bending;
  for (std::uint32_t h = 0; h < options_.hinges.size(); ++h)
    if (turned_angle(options_.hinges[h], posed_from_rest) >= kBendingAngle) bending.push_back(h);
  frame.joint_volumes = joint_volume_->measure(positions, bending);
  std::vector<std::uint8_t> bent = near_hinge_;
  // Skin that presses on other skin becomes flat; that is not detail lost. Its rim is bent by it, too.
  std::vector<std::uint32_t> straight;
  for (std::uint32_t v = 0; v < bent.size(); ++v)
    if (!bent[v] && used_[v]) straight.push_back(v);
  const FoldContact folds(view(rest_positions_), rings_, limb_radius_);
  const std::vector<std::uint8_t> touches = folds.find(positions, *contact.boxes, flipped, straight);
  std::vector<std::uint32_t> rim;
  for (std::size_t i = 0; i < straight.size(); ++i)
    if (touches[i] || contact.burial.vertex(straight[i])) rim.push_back(straight[i]);
  spread_over(rest_positions_, rings_, limb_radius_, kRimRadii, rim, bent);
  if (const std::optional<CurvatureChange> change = curvature_->change(positions, bent)) {
    frame.curvature_change = change->rms;
    frame.curvature_mean_change = change->mean;
  }
}

void SurfaceRuler::measure_flips(std::span<const Vec3f> positions, const SelfContact& contact,
                                 std::span<const std::uint32_t> flipped, SurfaceMeasurements& frame) const {
  const MeshView rest = view(rest_positions_);
  frame.flipped_triangles = flipped.size();
  std::vector<std::uint32_t> bare;
  std::vector<std::uint32_t> corners;
  for (const std::uint32_t t : flipped) {
    const Triangle& f = rest.triangles[t];
    if (contact.burial.triangles[t] ||
        std::any_of(f.begin(), f.end(), [&](std::uint32_t v) { return contact.burial.vertex(v); }))
      continue;
    bare.push_back(t);
    corners.insert(corners.end(), f.begin(), f.end());
  }
  const FoldContact folds(rest, rings_, limb_radius_);
  const std::vector<std::uint8_t> touches = folds.find(positions, *contact.boxes, flipped, corners);
  for (std::size_t i = 0; i < bare.size(); ++i)
    if (!touches[3 * i] && !touches[3 * i + 1] && !touches[3 * i + 2]) ++frame.flipped_outside_contact;
}

std::vector<double> SurfaceRuler::winding_outside(std::span<const Vec3f> positions) const {
  check(positions);
  return find_contact(positions).burial.outside;
}

SurfaceMeasurements SurfaceRuler::measure(std::span<const Vec3f> positions,
                                          std::span<const Affine3d> posed_from_rest) const {
  check(positions);
  std::vector<Vec3f> cleaned;
  positions = clean(positions, cleaned);
  SurfaceMeasurements frame;
  const SelfContact contact = find_contact(positions);
  frame.pairs_known = contact.pairs.has_value();
  frame.new_pairs_known = frame.pairs_known && rest_.pairs_known;
  if (contact.pairs) {
    const std::span<const TrianglePair> pairs(contact.pairs->data(), contact.surface_pairs);
    frame.intersecting_pairs = pairs.size();
    std::vector<TrianglePair> fresh;
    if (rest_.pairs_known)
      std::set_difference(pairs.begin(), pairs.end(), rest_pairs_.begin(), rest_pairs_.end(),
                          std::back_inserter(fresh));
    frame.new_intersecting_pairs = fresh.size();
  }
  const std::vector<double>& outside = contact.burial.outside;
  frame.buried_vertices =
      to_size(std::count_if(outside.begin(), outside.end(), [](double w) { return w > 0.5; }));
  const std::vector<std::uint32_t> fresh_vertices = newly_buried(contact.burial);
  frame.new_buried_vertices = fresh_vertices.size();
  if (contact.pairs)
    frame.depth = penetration_depth(contact_->surface(), contact.placed, *contact.pairs, contact.burial,
                                    fresh_vertices, limb_radius_);
  else
    frame.depth.known = fresh_vertices.empty();
  frame.overlap = contact.overlap;
  if (frame.new_pairs_known)
    frame.new_overlap_volume = std::max(0.0, contact.overlap.within_parts - rest_.overlap.within_parts) +
                               std::max(0.0, contact.overlap.between_parts - rest_.overlap.between_parts);
  frame.volume = enclosed_volume({contact.placed, contact_->surface().triangles});
  frame.volume_ratio = rest_.volume_known ? frame.volume / rest_.volume : 1;
  frame.area_stretch = stretch_->area_stretch(positions);
  frame.edge_stretch = stretch_->edge_stretch(positions);
  frame.degenerate_triangles = stretch_->degenerate_triangles(positions);
  const std::vector<std::uint32_t> flipped =
      flipped_triangles(view(rest_positions_), positions, *weights_,
                        weights_->rows() > 0 ? posed_from_rest : std::span<const Affine3d>());
  measure_hinges(positions, posed_from_rest, contact, flipped, frame);
  measure_flips(positions, contact, flipped, frame);
  return frame;
}

}  // namespace sinew
