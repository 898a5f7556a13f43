#include <sinew/measure/surface_ruler.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/geometry/fast_winding.h>
#include <sinew/geometry/volume.h>
#include <sinew/measure/burial.h>
#include <sinew/measure/flips.h>
#include <sinew/measure/limb_radius.h>

namespace sinew {

namespace {

// A volume smaller than this share of the bounding box is that of a sheet.
constexpr double kLeastVolumeShare = 1e-6;

}  // namespace

/// Where a frame's surface meets itself, on the closed surface.
struct SurfaceRuler::Contact {
  std::vector<Vec3f> placed;
  std::optional<std::vector<TrianglePair>> pairs;  // none: too many
  std::size_t surface_pairs = 0;                   // the first ones: without fans
  Burial burial;
  OverlapVolume overlap;
};

SurfaceRuler::SurfaceRuler(const MeshView& rest, SkinWeights weights, const SurfaceRulerOptions& options)
    : options_(options),
      rest_positions_(rest.positions.begin(), rest.positions.end()),
      weights_(std::move(weights)),
      used_(rest.positions.size(), 0) {
  if (weights_.rows() != 0 && weights_.rows() != rest.positions.size())
    throw Error(fmt::format("{} rows of weights for {} vertices", weights_.rows(), rest.positions.size()));
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
  surface_ = close_surface(rest.positions.size(), triangles);
  incidence_ = vertex_incidence(rest.positions.size(), triangles);
  const std::vector<Vec3f> placed = surface_.place(rest_positions_);
  const MeshView closed_rest{placed, surface_.triangles};
  tree_ = std::make_unique<TriangleTree>(closed_rest);
  intersections_ = std::make_unique<SelfIntersections>(closed_rest);
  stretch_ = std::make_unique<StretchMeter>(view(rest_positions_));
  limb_radius_ = sinew::limb_radius(
      view(rest_positions_), std::span<const std::uint32_t>(surface_.part.data(), surface_.triangle_count));

  Contact contact = find_contact(rest_positions_);
  rest_outside_ = std::move(contact.burial.outside);
  rest_.overlap = contact.overlap;
  rest_.pairs_known = contact.pairs.has_value();
  if (contact.pairs) {
    contact.pairs->resize(contact.surface_pairs);
    rest_pairs_ = std::move(*contact.pairs);
  }
  rest_.parts = surface_.part_count;
  rest_.open_borders = surface_.borders.size();
  rest_.unused_vertices = static_cast<std::size_t>(std::count(used_.begin(), used_.end(), 0));
  rest_.slivers = stretch_->slivers_at_rest();
  rest_.intersecting_pairs = rest_pairs_.size();
  rest_.buried_vertices = static_cast<std::size_t>(
      std::count_if(rest_outside_.begin(), rest_outside_.end(), [](double w) { return w > 0.5; }));
  rest_.volume = enclosed_volume(closed_rest);
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
  return {positions, std::span<const Triangle>(surface_.triangles.data(), surface_.triangle_count)};
}

void SurfaceRuler::check(std::span<const Vec3f> positions) const {
  if (positions.size() != used_.size())
    throw Error(fmt::format("{} positions for {} vertices", positions.size(), used_.size()));
  for (std::size_t v = 0; v < positions.size(); ++v)
    if (used_[v] && !positions[v].allFinite())
      throw Error(fmt::format("vertex {}: position ({}, {}, {}) is not finite", v, positions[v].x(),
                              positions[v].y(), positions[v].z()));
}

SurfaceRuler::Contact SurfaceRuler::find_contact(std::span<const Vec3f> positions) const {
  Contact contact;
  contact.placed = surface_.place(positions);
  try {
    contact.pairs = intersections_->find(contact.placed, options_.most_pairs);
  } catch (const Error&) {  // too many
  }
  if (contact.pairs) {
    // A pair's second triangle is the larger number, and fans stand behind the surface.
    const auto fans =
        std::stable_partition(contact.pairs->begin(), contact.pairs->end(),
                              [&](const TrianglePair& pair) { return pair[1] < surface_.triangle_count; });
    contact.surface_pairs = static_cast<std::size_t>(fans - contact.pairs->begin());
  }
  const FittedTriangleTree boxes(*tree_, contact.placed);
  const WindingTree winding(*tree_, boxes, contact.placed);
  Contacts contacts;
  if (contact.pairs) {
    contacts = find_contacts(surface_, contact.placed, boxes, *contact.pairs);
  } else {  // every vertex speaks for itself
    contacts.triangles.assign(surface_.triangles.size(), Meeting::intersecting);
    contacts.vertices.assign(contact.placed.size(), 0);
  }
  contact.burial = find_burial(surface_, incidence_, contact.placed, winding, contacts);
  if (contact.pairs)
    contact.overlap =
        overlap_volume(surface_, contact.placed, boxes, contact.burial, *contact.pairs, contacts.touches);
  return contact;
}

std::vector<double> SurfaceRuler::winding_outside(std::span<const Vec3f> positions) const {
  check(positions);
  return find_contact(positions).burial.outside;
}

SurfaceMeasurements SurfaceRuler::measure(std::span<const Vec3f> positions,
                                          std::span<const Affine3d> posed_from_rest) const {
  check(positions);
  std::vector<Vec3f> cleaned;
  if (rest_.unused_vertices > 0) {
    cleaned.assign(positions.begin(), positions.end());
    for (std::size_t v = 0; v < used_.size(); ++v)
      if (!used_[v]) cleaned[v].setZero();
    positions = cleaned;
  }
  SurfaceMeasurements frame;
  const Contact contact = find_contact(positions);
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
  std::vector<std::uint32_t> newly_buried;
  const std::vector<double>& outside = contact.burial.outside;
  for (std::uint32_t v = 0; v < outside.size(); ++v) {
    if (!(outside[v] > 0.5)) continue;
    ++frame.buried_vertices;
    if (outside[v] > 0.5 + std::max(0.0, rest_outside_[v])) newly_buried.push_back(v);
  }
  frame.new_buried_vertices = newly_buried.size();
  if (contact.pairs)
    frame.depth = penetration_depth(surface_, contact.placed, *contact.pairs, contact.burial, newly_buried,
                                    limb_radius_);
  else
    frame.depth.known = newly_buried.empty();
  frame.overlap = contact.overlap;
  if (frame.new_pairs_known)
    frame.new_overlap_volume = std::max(0.0, contact.overlap.within_parts - rest_.overlap.within_parts) +
                               std::max(0.0, contact.overlap.between_parts - rest_.overlap.between_parts);
  frame.volume = enclosed_volume({contact.placed, surface_.triangles});
  frame.volume_ratio = rest_.volume_known ? frame.volume / rest_.volume : 1;
  frame.area_stretch = stretch_->area_stretch(positions);
  frame.edge_stretch = stretch_->edge_stretch(positions);
  frame.degenerate_triangles = stretch_->degenerate_triangles(positions);
  frame.flipped_triangles =
      flipped_triangles(view(rest_positions_), positions, weights_,
                        weights_.rows() > 0 ? posed_from_rest : std::span<const Affine3d>());
  return frame;
}

}  // namespace sinew
