#include <sinew/measure/self_contact.h>

#include <algorithm>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/geometry/fast_winding.h>

namespace sinew {

SelfContactFinder::SelfContactFinder(const MeshView& rest)
    : surface_(close_surface(rest.positions.size(), rest.triangles)),
      incidence_(vertex_incidence(rest.positions.size(), rest.triangles)) {
  const std::vector<Vec3f> placed = surface_.place(rest.positions);
  const MeshView closed{placed, surface_.triangles};
  tree_ = std::make_unique<TriangleTree>(closed);
  intersections_ = std::make_unique<SelfIntersections>(closed);
}

Pairs SelfContactFinder::pairs(std::span<const Vec3f> placed, std::size_t most_pairs) const {
  Pairs found;
  try {
    found = intersections_->find(placed, most_pairs);
  } catch (const Error&) {  // too many
    return found;
  }
  // A pair's second triangle is the larger number, and fans stand behind the surface.
  std::stable_partition(found->begin(), found->end(),
                        [&](const TrianglePair& pair) { return pair[1] < surface_.triangle_count; });
  return found;
}

SelfContact SelfContactFinder::find(std::vector<Vec3f> placed, Pairs pairs, bool with_overlap) const {
  SelfContact contact;
  contact.placed = std::move(placed);
  contact.pairs = std::move(pairs);
  contact.boxes.emplace(*tree_, contact.placed);
  const WindingTree winding(*tree_, *contact.boxes, contact.placed);
  Contacts contacts;
  if (contact.pairs) {
    const auto without_fans = [&](const TrianglePair& pair) { return pair[1] < surface_.triangle_count; };
    contact.surface_pairs =
        to_size(std::partition_point(contact.pairs->begin(), contact.pairs->end(), without_fans) -
                contact.pairs->begin());
    contacts = find_contacts(surface_, contact.placed, *contact.boxes, *contact.pairs);
  } else {  // every vertex speaks for itself
    contacts.triangles.assign(surface_.triangles.size(), Meeting::intersecting);
    contacts.vertices.assign(contact.placed.size(), 0);
  }
  contact.burial = find_burial(surface_, incidence_, contact.placed, winding, contacts);
  if (contact.pairs && with_overlap)
    contact.overlap = overlap_volume(surface_, contact.placed, *contact.boxes, contact.burial, *contact.pairs,
                                     contacts.touches);
  return contact;
}

}  // namespace sinew
