#include <sinew/geometry/ray_query.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <embree3/rtcore.h>
#include <fmt/format.h>
#include <Eigen/Geometry>

#include <sinew/core/error.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/embree_handles.h>

namespace sinew {

namespace {

// Embree works in float on a copy of the mesh scaled by a power of two, so that coordinates lie within ±1 and
// keep their digits. What it finds is then computed in double from the original positions. Constants are
// lengths at that unit size, some digits above float's rounding.
constexpr double kRounding = 1e-6;
constexpr double kBoxMargin = 1e-5;
// Beyond this many mesh sizes float distances to all parts of the mesh are alike, and their squares may
// overflow.
constexpr double kFarAway = 1e6;

constexpr std::size_t kBatchBlock = 64;

struct FoundHit {
  std::uint32_t triangle;
  float u, v, t;
  bool operator<(const FoundHit& other) const {
    return t != other.t ? t < other.t : triangle < other.triangle;
  }
};

// Embree hands the context back to the filter, which finds what it fills behind it.
struct CollectContext {
  RTCIntersectContext embree;
  std::vector<FoundHit>* hits = nullptr;  // all hits, when given
  FoundHit nearest{0, 0, 0, std::numeric_limits<float>::infinity()};
};

void collect(const RTCFilterFunctionNArguments* arguments) {
  assert(arguments->N == 1);
  auto* context = reinterpret_cast<CollectContext*>(arguments->context);
  RTCHitN* hit = arguments->hit;
  const FoundHit found{RTCHitN_primID(hit, 1, 0), RTCHitN_u(hit, 1, 0), RTCHitN_v(hit, 1, 0),
                       RTCRayN_tfar(arguments->ray, 1, 0)};
  if (context->hits) context->hits->push_back(found);
  context->nearest = std::min(context->nearest, found);
  arguments->valid[0] = 0;  // go on as if there had been no hit
}

struct ClosestPoint {
  Vec3d barycentric;
  Vec3d position;
  double squared_distance;
};

ClosestPoint closest_on_triangle(const Vec3d& p, const Vec3d& a, const Vec3d& b, const Vec3d& c) {
  const Vec3d ab = b - a, ac = c - a, ap = p - a;
  const Vec3d normal = ab.cross(ac);
  const double area = normal.squaredNorm();
  const double longest = std::max({ab.squaredNorm(), ac.squaredNorm(), (c - b).squaredNorm()});
  // Thinner triangles are their three sides as far as double can tell.
  if (area > 1e-24 * longest * longest) {
    const double wb = ap.cross(ac).dot(normal) / area, wc = ab.cross(ap).dot(normal) / area;
    if (wb >= 0 && wc >= 0 && wb + wc <= 1) {
      const Vec3d position = a + wb * ab + wc * ac;
      return {{1 - wb - wc, wb, wc}, position, (p - position).squaredNorm()};
    }
  }
  ClosestPoint best{Vec3d::Zero(), a, std::numeric_limits<double>::infinity()};
  const Vec3d* corners[3] = {&a, &b, &c};
  for (int k = 0; k < 3; ++k) {
    const Vec3d &from = *corners[k], &to = *corners[(k + 1) % 3];
    const Vec3d side = to - from;
    const double length = side.squaredNorm();
    const double share = length > 0 ? std::clamp((p - from).dot(side) / length, 0.0, 1.0) : 0.0;
    const Vec3d position = from + share * side;
    const double squared = (p - position).squaredNorm();
    if (squared < best.squared_distance) {
      best = {Vec3d::Zero(), position, squared};
      best.barycentric[k] = 1 - share;
      best.barycentric[(k + 1) % 3] = share;
    }
  }
  return best;
}

}  // namespace

struct SurfaceQuery::Scene {
  explicit Scene(const MeshView& mesh)
      : positions(mesh.positions.begin(), mesh.positions.end()),
        triangles(mesh.triangles.begin(), mesh.triangles.end()) {
    double largest = 0;
    std::vector<char> used(positions.size(), 0);
    for (const Triangle& f : triangles)
      for (const std::uint32_t v : f) {
        assert(v < positions.size());
        used[v] = 1;
        if (!positions[v].allFinite())
          throw Error(fmt::format("vertex {}: position ({}, {}, {}) is not finite", v, positions[v].x(),
                                  positions[v].y(), positions[v].z()));
        largest = std::max(largest, double{positions[v].cwiseAbs().maxCoeff()});
      }
    scale = largest > 0 ? std::ldexp(1.0, -std::ilogb(largest) - 1) : 1.0;

    device.reset(rtcNewDevice(nullptr));
    if (!device)
      throw Error(
          fmt::format("Embree cannot start (error {})", static_cast<int>(rtcGetDeviceError(nullptr))));
    scene.reset(rtcNewScene(device.get()));
    rtcSetSceneFlags(scene.get(), static_cast<RTCSceneFlags>(RTC_SCENE_FLAG_ROBUST |
                                                             RTC_SCENE_FLAG_CONTEXT_FILTER_FUNCTION));
    if (!triangles.empty()) {
      RTCGeometry geometry = rtcNewGeometry(device.get(), RTC_GEOMETRY_TYPE_TRIANGLE);
      auto* vertices = static_cast<float*>(rtcSetNewGeometryBuffer(
          geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, 3 * sizeof(float), positions.size()));
      if (vertices)
        for (std::size_t v = 0; v < positions.size(); ++v)
          for (int k = 0; k < 3; ++k) {
            vertices[3 * v + k] = used[v] ? static_cast<float>(scale * positions[v][k]) : 0.0f;
            if (used[v]) box.extend(scale * positions[v].cast<double>());
          }
      rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, triangles.data(), 0,
                                 sizeof(Triangle), triangles.size());
      rtcCommitGeometry(geometry);
      rtcAttachGeometry(scene.get(), geometry);
      rtcReleaseGeometry(geometry);
      box.min().array() -= kBoxMargin;
      box.max().array() += kBoxMargin;
    }
    rtcCommitScene(scene.get());
    const RTCError error = rtcGetDeviceError(device.get());
    if (error != RTC_ERROR_NONE)
      throw Error(fmt::format("Embree cannot build its tree over {} triangles (error {})", triangles.size(),
                              static_cast<int>(error)));
  }

  // The ray as Embree gets it: unit size, unit direction, cut to the mesh's box, so that an origin far away
  // costs no digits. False when there is nothing to hit.
  bool prepare(const Ray& ray, RTCRay& out) const {
    if (triangles.empty() || !ray.origin.allFinite() || !ray.direction.allFinite() ||
        ray.direction.isZero(0) || !(ray.t_near <= ray.t_far))
      return false;
    const Vec3d origin = scale * ray.origin.cast<double>();
    const double length = ray.direction.cast<double>().norm();
    const Vec3d direction = ray.direction.cast<double>() / length;
    double near = ray.t_near * length * scale, far = ray.t_far * length * scale;
    for (int k = 0; k < 3; ++k) {
      if (direction[k] == 0) {
        if (origin[k] < box.min()[k] || origin[k] > box.max()[k]) return false;
        continue;
      }
      const double first = (box.min()[k] - origin[k]) / direction[k];
      const double last = (box.max()[k] - origin[k]) / direction[k];
      near = std::max(near, std::min(first, last));
      far = std::min(far, std::max(first, last));
    }
    if (!(near <= far)) return false;
    const Eigen::Vector3f start = (origin + near * direction).cast<float>();
    const Eigen::Vector3f along = direction.cast<float>();
    out = {};
    out.org_x = start.x();
    out.org_y = start.y();
    out.org_z = start.z();
    out.dir_x = along.x();
    out.dir_y = along.y();
    out.dir_z = along.z();
    out.tnear = 0;
    out.tfar = static_cast<float>(far - near);
    out.mask = 0xffffffff;
    return true;
  }

  // The nearest hit, the triangle with the smallest number among equals; its t is infinite when there is
  // none.
  FoundHit collect_hits(const RTCRay& prepared, std::vector<FoundHit>* hits) const {
    CollectContext context;
    rtcInitIntersectContext(&context.embree);
    context.embree.filter = collect;
    context.hits = hits;
    RTCRayHit query{};
    query.ray = prepared;
    query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
    rtcIntersect1(scene.get(), &context.embree, &query);
    return context.nearest;
  }

  RayHit finish(const Ray& ray, const FoundHit& found) const {
    const Triangle& f = triangles[found.triangle];
    const Vec3d a = positions[f[0]].cast<double>(), b = positions[f[1]].cast<double>(),
                c = positions[f[2]].cast<double>();
    const Vec3d weights(1.0 - found.u - found.v, found.u, found.v);
    const Vec3d position = weights[0] * a + weights[1] * b + weights[2] * c;
    const Vec3d direction = ray.direction.cast<double>();
    const double t = (position - ray.origin.cast<double>()).dot(direction) / direction.squaredNorm();
    RayHit hit;
    hit.triangle = found.triangle;
    hit.barycentric = weights.cast<float>();
    hit.position = position.cast<float>();
    hit.t = static_cast<float>(std::clamp(t, double{ray.t_near}, double{ray.t_far}));
    hit.from_front = (b - a).cross(c - a).dot(direction) < 0;
    return hit;
  }

  std::vector<Vec3f> positions;
  std::vector<Triangle> triangles;
  double scale = 1;
  Eigen::AlignedBox3d box;  // at unit size, with a margin
  EmbreeDevice device;
  EmbreeScene scene;
};

SurfaceQuery::SurfaceQuery(const MeshView& mesh) : scene_(std::make_unique<Scene>(mesh)) {}
SurfaceQuery::~SurfaceQuery() = default;
SurfaceQuery::SurfaceQuery(SurfaceQuery&&) noexcept = default;
SurfaceQuery& SurfaceQuery::operator=(SurfaceQuery&&) noexcept = default;

std::optional<RayHit> SurfaceQuery::first_hit(const Ray& ray) const {
  RTCRayHit query{};
  if (!scene_->prepare(ray, query.ray)) return std::nullopt;
  const RTCRay prepared = query.ray;
  query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcIntersect1(scene_->scene.get(), &context, &query);
  if (query.hit.geomID == RTC_INVALID_GEOMETRY_ID) return std::nullopt;
  const FoundHit first{query.hit.primID, query.hit.u, query.hit.v, query.ray.tfar};
  // Which of several equally near triangles Embree answers depends on how its tree was built, and that on the
  // number of threads: ask again for all near this one and take the nearest, by the smallest number.
  RTCRay around = prepared;
  around.tnear = std::max(0.0f, first.t - static_cast<float>(kRounding));
  around.tfar = std::min(prepared.tfar, first.t + static_cast<float>(kRounding));
  return scene_->finish(ray, std::min(first, scene_->collect_hits(around, nullptr)));
}

bool SurfaceQuery::occluded(const Ray& ray) const {
  RTCRay query;
  if (!scene_->prepare(ray, query)) return false;
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcOccluded1(scene_->scene.get(), &context, &query);
  return query.tfar < 0;
}

std::vector<RayHit> SurfaceQuery::all_hits(const Ray& ray) const {
  RTCRay query;
  if (!scene_->prepare(ray, query)) return {};
  std::vector<FoundHit> found;
  scene_->collect_hits(query, &found);
  std::vector<RayHit> hits;
  for (const FoundHit& hit : found) hits.push_back(scene_->finish(ray, hit));
  std::sort(hits.begin(), hits.end(), [](const RayHit& a, const RayHit& b) {
    return a.t != b.t ? a.t < b.t : a.triangle < b.triangle;
  });
  return hits;
}

std::optional<NearestHit> SurfaceQuery::nearest(const Vec3f& point, float max_distance) const {
  const Scene& scene = *scene_;
  if (scene.triangles.empty() || !point.allFinite() || !(max_distance >= 0)) return std::nullopt;
  struct Best {
    const Scene* scene;
    Vec3d point;
    ClosestPoint closest;
    std::uint32_t triangle = 0;

    // True when it is nearer than all before.
    bool visit(std::uint32_t t) {
      const Triangle& f = scene->triangles[t];
      const ClosestPoint found =
          closest_on_triangle(point, scene->positions[f[0]].cast<double>(),
                              scene->positions[f[1]].cast<double>(), scene->positions[f[2]].cast<double>());
      if (found.squared_distance > closest.squared_distance ||
          (found.squared_distance == closest.squared_distance && t >= triangle))
        return false;
      const bool nearer = found.squared_distance < closest.squared_distance;
      closest = found;
      triangle = t;
      return nearer;
    }
    // At unit size, with room for float's rounding, so that all ties are seen in whichever order they come.
    float radius() const {
      return static_cast<float>(std::sqrt(closest.squared_distance) * scene->scale * (1 + 1e-5) + kRounding);
    }
  };
  Best best;
  best.scene = &scene;
  best.point = point.cast<double>();
  best.closest.squared_distance = double{max_distance} * max_distance;
  best.triangle = std::numeric_limits<std::uint32_t>::max();
  const Vec3d scaled = scene.scale * best.point;
  if (scaled.cwiseAbs().maxCoeff() > kFarAway) {
    for (std::uint32_t t = 0; t < scene.triangles.size(); ++t) best.visit(t);
  } else {
    RTCPointQuery query{};
    query.x = static_cast<float>(scaled.x());
    query.y = static_cast<float>(scaled.y());
    query.z = static_cast<float>(scaled.z());
    query.radius = best.radius();
    RTCPointQueryContext context;
    rtcInitPointQueryContext(&context);
    const auto visit = [](RTCPointQueryFunctionArguments* arguments) {
      auto* self = static_cast<Best*>(arguments->userPtr);
      if (!self->visit(arguments->primID)) return false;
      arguments->query->radius = std::min(arguments->query->radius, self->radius());
      return true;
    };
    rtcPointQuery(scene.scene.get(), &query, &context, visit, &best);
  }
  if (best.triangle == std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  NearestHit hit;
  hit.triangle = best.triangle;
  hit.barycentric = best.closest.barycentric.cast<float>();
  hit.position = best.closest.position.cast<float>();
  hit.distance = static_cast<float>(std::sqrt(best.closest.squared_distance));
  return hit;
}

void SurfaceQuery::first_hits(std::span<const Ray> rays, std::span<std::optional<RayHit>> hits) const {
  assert(rays.size() == hits.size());
  parallel_blocks(rays.size(), kBatchBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) hits[i] = first_hit(rays[i]);
  });
}

void SurfaceQuery::occluded(std::span<const Ray> rays, std::span<std::uint8_t> answers) const {
  assert(rays.size() == answers.size());
  parallel_blocks(rays.size(), kBatchBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) answers[i] = occluded(rays[i]);
  });
}

void SurfaceQuery::nearest(std::span<const Vec3f> points, std::span<std::optional<NearestHit>> hits,
                           float max_distance) const {
  assert(points.size() == hits.size());
  parallel_blocks(points.size(), kBatchBlock, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) hits[i] = nearest(points[i], max_distance);
  });
}

}  // namespace sinew
