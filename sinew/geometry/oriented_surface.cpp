#include <sinew/geometry/oriented_surface.h>

#include <sinew/geometry/fast_winding.h>

namespace sinew {

namespace {

constexpr std::size_t kMostIntervals = 24;

}  // namespace

struct OrientedSurface::Winding {
  explicit Winding(const MeshView& outward)
      : tree(outward), winding(tree, FittedTriangleTree(tree, outward.positions), outward.positions) {}

  TriangleTree tree;
  WindingTree winding;
};

OrientedSurface::OrientedSurface(const MeshView& mesh)
    : query_(mesh), orientation_(find_orientation(mesh, query_)) {
  if (mesh.triangles.empty() || (orientation_.closed && orientation_.patches == 1)) return;
  std::vector<Triangle> outward;
  for (std::size_t t = 0; t < mesh.triangles.size(); ++t)
    if (orientation_.interior[t] == 0) {
      outward.push_back(mesh.triangles[t]);
      if (orientation_.reversed[t] != 0) std::swap(outward.back()[1], outward.back()[2]);
    }
  if (outward.empty()) return;
  // The tree wants all positions finite; those without triangles may be anything.
  std::vector<Vec3f> positions(mesh.positions.begin(), mesh.positions.end());
  for (Vec3f& p : positions)
    if (!p.allFinite()) p.setZero();
  winding_ = std::make_unique<const Winding>(MeshView{positions, outward});
}

OrientedSurface::~OrientedSurface() = default;
OrientedSurface::OrientedSurface(OrientedSurface&&) noexcept = default;
OrientedSurface& OrientedSurface::operator=(OrientedSurface&&) noexcept = default;

bool OrientedSurface::contains(const Vec3d& point) const {
  if (winding_ != nullptr) return winding_->winding.at(point) > 0.5;
  // Three rays vote, so that one that grazes an edge does not decide.
  const Vec3f directions[] = {{1, 0.1f, 0.05f}, {-0.1f, 1, 0.07f}, {0.03f, -0.12f, 1}};
  int votes = 0;
  for (const Vec3f& direction : directions) {
    const std::optional<RayHit> hit =
        query_.first_hit({.origin = point.cast<float>(), .direction = direction});
    if (hit && leaves(*hit)) ++votes;
  }
  return votes >= 2;
}

double OrientedSurface::reach(const Vec3d& from, const Vec3d& unit_direction) const {
  const Ray ray{.origin = from.cast<float>(), .direction = unit_direction.cast<float>()};
  if (winding_ == nullptr) {
    const std::optional<RayHit> hit = query_.first_hit(ray);
    return hit && leaves(*hit) ? (hit->position.cast<double>() - from).norm() : 0;
  }
  const std::vector<RayHit> hits = query_.all_hits(ray);
  double inside_until = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const double begin = i == 0 ? 0 : hits[i - 1].t, end = hits[i].t;
    if (!contains(from + 0.5 * (begin + end) * unit_direction)) return inside_until;
    inside_until = end;
  }
  return inside_until;
}

double OrientedSurface::outside_share(const Ray& ray, bool starts_inside) const {
  const std::vector<RayHit> hits = query_.all_hits(ray);
  if (winding_ != nullptr && hits.size() > kMostIntervals) {
    // Hair, foliage, hundreds of layers: so many samples tell as much.
    int outside = 0;
    for (std::size_t i = 0; i < kMostIntervals; ++i) {
      const float t = (static_cast<float>(i) + 0.5f) / kMostIntervals;
      if (!contains((ray.origin + t * ray.direction).cast<double>())) ++outside;
    }
    return static_cast<double>(outside) / kMostIntervals;
  }
  double outside = 0, last = 0;
  bool inside = starts_inside;
  const auto pass = [&](double until) {
    if (winding_ != nullptr && until > last)
      inside =
          contains((ray.origin + static_cast<float>(0.5 * (last + until)) * ray.direction).cast<double>());
    if (!inside) outside += until - last;
    last = until;
  };
  for (const RayHit& hit : hits) {
    pass(hit.t);
    inside = !leaves(hit);
  }
  pass(1);
  return outside;
}

}  // namespace sinew
