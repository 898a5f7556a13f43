#include <sinew/picture/clay.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include <embree3/rtcore.h>
#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/core/smooth_step.h>
#include <sinew/geometry/embree_handles.h>
#include <sinew/picture/strokes.h>

namespace sinew {

namespace {

// The picture is made in three passes. The first asks at each pixel's middle how much of the sky and of the
// key light its point sees, with few rays. The second smooths these answers along the surface, never across
// edges: neighbours in a 4 × 4 pattern shoot different parts of one well-spread set of rays, so that a window
// of that size has seen the whole set. The third shades several points per pixel, looks the answers up
// there, and shoots rays of its own only where no neighbour lies on the same piece of surface.
//
// All lengths are in units of the character's radius: Embree's float arithmetic then has its digits where
// they are needed, whatever the file's scale.

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kRayStart = 2e-4f;  // clear of the surface the ray starts from
constexpr float kTie = 2e-6f;       // hits nearer to each other than this are equally near
constexpr int kRowsPerTask = 4;
constexpr float kFilterWidth = 1.3f;  // pixels over which a pixel's points are spread: a bit soft, not jagged

constexpr float kKeyRadius = 0.20f;  // tangent of the half angle under which the key light is seen

struct QualitySettings {
  int sky_rays;  // per pixel, a power of two
  int key_rays;  // per pixel, a power of two
  int samples;   // shaded points per pixel, a power of two
};
constexpr QualitySettings kDraft{8, 4, 4};
constexpr QualitySettings kFinal{32, 16, 8};

// The first two dimensions of Sobol's sequence: each aligned block of 2^k points is spread evenly by itself.
std::array<float, 2> sobol(std::uint32_t i) {
  std::uint32_t x = 0, y = 0, direction = 0x80000000u;
  for (std::uint32_t bits = i, flip = 0x80000000u; bits != 0; bits >>= 1, flip >>= 1) {
    if (bits & 1) {
      x ^= flip;
      y ^= direction;
    }
    direction ^= direction >> 1;
  }
  return {static_cast<float>(x >> 8) * 0x1p-24f, static_cast<float>(y >> 8) * 0x1p-24f};
}

float radical_inverse_3(std::uint32_t i) {
  float value = 0, digit = 1.0f / 3;
  for (; i > 0; i /= 3, digit /= 3) value += static_cast<float>(i % 3) * digit;
  return value;
}

// Place of a pixel in its 4 × 4 pattern, neighbours far apart in number.
std::uint32_t pattern_place(int x, int y) {
  constexpr std::array<std::uint8_t, 16> kBayer{0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5};
  return kBayer[to_size((y & 3) * 4 + (x & 3))];
}

float clamp01(float x) {
  return std::clamp(x, 0.0f, 1.0f);
}

// The cosine law for a light of some width: it sets gradually behind the horizon.
float soft_cosine(float cosine) {
  constexpr float kWidth = 1.4f * kKeyRadius;
  if (cosine >= kWidth) return cosine;
  if (cosine <= -kWidth) return 0;
  return (cosine + kWidth) * (cosine + kWidth) / (4 * kWidth);
}

// Filmic curve with a soft shoulder; Narkowicz's fit of ACES.
float film(float x) {
  return clamp01(x * (2.51f * x + 0.03f) / (x * (2.43f * x + 0.59f) + 0.14f));
}

// Rounds up or down by the place in the pattern: slow gradients would show steps.
Rgb dithered(const Vec3f& linear, int x, int y) {
  const float threshold = (static_cast<float>(pattern_place(x, y)) + 0.5f) / 16;
  const auto encode = [threshold](float value) {
    const float s = value <= 0.0031308f ? 12.92f * value : 1.055f * std::pow(value, 1 / 2.4f) - 0.055f;
    return static_cast<std::uint8_t>(std::clamp(std::floor(255 * s + threshold), 0.0f, 255.0f));
  };
  return {encode(linear.x()), encode(linear.y()), encode(linear.z())};
}

struct Basis {
  Vec3f tangent, bitangent;
};

// Duff et al. 2017, "Building an orthonormal basis, revisited".
Basis basis_around(const Vec3f& n) {
  const float sign = std::copysign(1.0f, n.z());
  const float a = -1.0f / (sign + n.z()), b = n.x() * n.y() * a;
  return {{1.0f + sign * n.x() * n.x() * a, sign * b, -sign * n.x()}, {b, sign + n.y() * n.y() * a, -n.y()}};
}

enum class Seen : std::uint8_t { nothing, surface, floor };

struct Point {
  Seen seen = Seen::nothing;
  bool back = false;  // the side of a closed part that should not be seen
  std::uint32_t triangle = 0;
  float u = 0, v = 0, t = kInfinity;
  Vec3f position = Vec3f::Zero();
  Vec3f ray_start = Vec3f::Zero();  // just off the triangle
  Vec3f lift = Vec3f::Zero();       // from there to the smooth surface
  Vec3f normal = Vec3f::UnitY();    // smooth, towards the camera
};

struct Light {
  float sky = 1;
  float key = 1;
};

struct PixelLight {
  Light light;
  Seen seen = Seen::nothing;
  bool back = false;
  bool overlaid = false;  // by a bone of the skeleton or by the ghost
  std::uint32_t triangle = 0;
  float u = 0, v = 0;
  Vec3f position = Vec3f::Zero();
  Vec3f normal = Vec3f::Zero();
};

class Painter {
 public:
  Painter(const DrawnSurface& surface, const ClayFrame& frame, const Camera& camera,
          const ClayOptions& options);
  Image paint(const Progress& progress);

 private:
  void build_surface(const ClayFrame& frame);
  void build_rays();
  void build_bones();
  void build_ghost();
  EmbreeScene triangle_scene(std::span<const Vec3f> positions, std::span<const Triangle> triangles) const;
  bool clip(const Vec3f& origin, const Vec3f& direction, float& near, float& far) const;
  bool first_triangle(const EmbreeScene& scene, const Vec3f& direction, RTCRayHit& query) const;
  Point look(const Vec3f& direction) const;
  bool blocked(const Vec3f& origin, const Vec3f& direction, float far) const;
  Light light_at(const Point& point, std::uint32_t place) const;
  Light look_up(const Point& point, float x, float y, std::uint32_t place) const;
  void gather_light(int row);
  void smooth_light(int row);
  bool is_plain(int x, int row) const;
  Vec3f color_of(const Point& point, const Light& light, const Vec3f& direction, const Vec2f& pixel,
                 const Vec3f& backdrop) const;
  void shade_row(int row, Image& image) const;
  Vec3f shade(const Point& point, const Light& light, const Vec3f& albedo, const Vec3f& to_camera) const;
  Vec3f albedo_of(const Point& point) const;
  float wire_coverage(const Point& point, const Vec2f& pixel) const;
  bool first_bone(const Vec3f& direction, RTCRayHit& query) const;
  Vec3f with_bones(const Vec3f& color, const Vec3f& direction, const Point& behind) const;
  Vec3f with_ghost(const Vec3f& color, const Vec3f& direction) const;
  void draw_cut(Image& image) const;
  /// The vertex nearest to a point, by its weights.
  template <class Place>
  std::uint32_t nearest_corner(const Place& place) const {
    const Triangle& f = triangles_[place.triangle];
    const float first = 1 - place.u - place.v;
    return first >= place.u && first >= place.v ? f[0] : place.u >= place.v ? f[1] : f[2];
  }
  Vec3f unit(const Vec3f& p) const { return ((p.cast<double>() - middle_) * scale_).cast<float>(); }
  Vec3f direction_at(float x, float y) const { return left_top_ + x * step_x_ + y * step_y_; }
  Vec2f pixel_of(const Vec3f& p, float* depth) const;

  const DrawnSurface& surface_;
  const ClayOptions& options_;
  QualitySettings quality_;
  std::vector<Vec3f> positions_;  // unit space; zero where not finite
  std::vector<Vec3f> normals_;
  std::vector<Vec3f> colors_;  // linear; empty: clay
  bool sharp_colors_ = false;
  std::vector<Triangle> triangles_;  // all one vertex where a corner is not finite
  Vec3d middle_ = Vec3d::Zero();
  double scale_ = 1;
  Eigen::AlignedBox3f box_;
  Vec3f eye_, right_, up_, back_;
  Vec3f left_top_, step_x_, step_y_;  // view direction at the image's corner; per pixel
  float pixel_angle_ = 0;             // width of a pixel at distance 1
  float reach_ = 1;                   // how far surfaces shade each other
  float floor_ = -kInfinity;
  bool has_floor_ = false;
  CutPlane cut_;
  bool has_cut_ = false;
  Vec3f to_key_, to_fill_, to_rim_;
  Basis key_disc_;
  std::vector<Vec4f> sky_rays_;  // in the point's own frame, normal last; and how far, as a share of reach_
  std::vector<Vec3f> key_rays_;
  Vec3f clay_, back_color_, backdrop_top_, backdrop_bottom_;
  std::vector<PixelLight> lights_;
  std::vector<Light> smoothed_;
  EmbreeDevice device_;
  EmbreeScene scene_;
  EmbreeScene bones_;
  EmbreeScene ghost_;
  std::vector<Triangle> ghost_triangles_;
  std::vector<Vec3f> ghost_normals_;
  Vec3f ghost_color_ = Vec3f::Zero();
  std::vector<Vec3f> bone_colors_;  // of the octahedra's faces, then of the balls
  std::size_t bone_faces_ = 0;
};

Painter::Painter(const DrawnSurface& surface, const ClayFrame& frame, const Camera& camera,
                 const ClayOptions& options)
    : surface_(surface),
      options_(options),
      quality_(options.quality == ClayQuality::final ? kFinal : kDraft),
      clay_(linear_from_srgb(options.clay)),
      back_color_(linear_from_srgb(options.back_faces)),
      backdrop_top_(linear_from_srgb(options.backdrop.top)),
      backdrop_bottom_(linear_from_srgb(options.backdrop.bottom)) {
  if (options.width < 1 || options.height < 1 ||
      std::int64_t{options.width} * options.height > kMostClayPixels)
    throw Error(fmt::format("a picture of {} × {} pixels cannot be drawn: 1 to {} pixels are possible",
                            options.width, options.height, kMostClayPixels));
  if (frame.positions.size() != surface.vertex_count())
    throw Error(fmt::format("picture: {} positions for a surface of {} vertices", frame.positions.size(),
                            surface.vertex_count()));
  if (!frame.colors.empty() && frame.colors.size() != surface.vertex_count())
    throw Error(fmt::format("picture: {} colours for a surface of {} vertices", frame.colors.size(),
                            surface.vertex_count()));
  for (const Rgb& color : frame.colors) colors_.push_back(linear_from_srgb(color));
  sharp_colors_ = frame.sharp_colors;
  device_.reset(rtcNewDevice(nullptr));
  if (!device_)
    throw Error(fmt::format("Embree cannot start (error {})", static_cast<int>(rtcGetDeviceError(nullptr))));
  build_surface(frame);

  eye_ = ((camera.position - middle_) * scale_).cast<float>();
  right_ = camera.right.cast<float>();
  up_ = camera.up.cast<float>();
  back_ = camera.back.cast<float>();
  left_top_ = camera.direction(0, 0).cast<float>();
  step_x_ = (2 * camera.tan_half_width / options.width * camera.right).cast<float>();
  step_y_ = (-2 * camera.tan_half_height / options.height * camera.up).cast<float>();
  pixel_angle_ = static_cast<float>(2 * camera.tan_half_height / options.height);
  const float distance = std::max(0.1f, eye_.norm());
  reach_ =
      0.45f *
      std::min(1.0f, distance * static_cast<float>(std::min(camera.tan_half_width, camera.tan_half_height)));
  if (options.floor) {
    floor_ = static_cast<float>((*options.floor - middle_.y()) * scale_);
    has_floor_ = std::isfinite(floor_) && eye_.y() > floor_;
  }
  if (options.cut) {
    has_cut_ = true;
    cut_.normal = options.cut->normal;
    cut_.offset =
        static_cast<float>((options.cut->offset - options.cut->normal.cast<double>().dot(middle_)) * scale_);
  }
  to_key_ = (-0.72f * right_ + 0.78f * up_ + 0.52f * back_).normalized();
  to_fill_ = (0.85f * right_ + 0.15f * up_ + 0.50f * back_).normalized();
  to_rim_ = (0.45f * right_ + 0.55f * up_ - 0.70f * back_).normalized();
  key_disc_ = basis_around(to_key_);
  build_rays();
  build_bones();
  build_ghost();
}

// The rays of all places of the pattern, one place after the other.
void Painter::build_rays() {
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(16 * quality_.sky_rays); ++i) {
    const auto [a, b] = sobol(i);
    const float radius = std::sqrt(a), angle = 2 * std::numbers::pi_v<float> * b;
    // A reach drawn evenly makes the shade fall off linearly with the distance of what casts it.
    sky_rays_.emplace_back(radius * std::cos(angle), radius * std::sin(angle),
                           std::sqrt(std::max(1e-4f, 1 - a)), 0.05f + 0.95f * radical_inverse_3(i + 1));
  }
  for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(16 * quality_.key_rays); ++i) {
    const auto [a, b] = sobol(i);
    const float radius = kKeyRadius * std::sqrt(a), angle = 2 * std::numbers::pi_v<float> * b;
    key_rays_.push_back(to_key_ + radius * std::cos(angle) * key_disc_.tangent +
                        radius * std::sin(angle) * key_disc_.bitangent);
  }
}

void Painter::build_surface(const ClayFrame& frame) {
  const std::span<const Triangle> all = surface_.triangles();
  const auto finite = [&](const Triangle& f) {
    return frame.positions[f[0]].allFinite() && frame.positions[f[1]].allFinite() &&
           frame.positions[f[2]].allFinite();
  };
  Eigen::AlignedBox3d box;
  triangles_.resize(all.size());
  for (std::size_t t = 0; t < all.size(); ++t) {
    const bool drawn = finite(all[t]);
    triangles_[t] = drawn ? all[t] : Triangle{all[t][0], all[t][0], all[t][0]};
    if (!drawn) continue;
    for (const std::uint32_t v : all[t]) box.extend(frame.positions[v].cast<double>());
  }
  if (box.isEmpty()) throw Error("nothing to draw: no triangle has three finite corners");
  middle_ = box.center();
  const double radius = box.diagonal().norm() / 2;
  scale_ = radius > 0 ? 1 / radius : 1;

  box_ = Eigen::AlignedBox3f(((box.min() - middle_) * scale_).cast<float>(),
                             ((box.max() - middle_) * scale_).cast<float>());
  positions_.resize(frame.positions.size());
  for (std::size_t v = 0; v < positions_.size(); ++v)
    positions_[v] = frame.positions[v].allFinite() ? unit(frame.positions[v]) : Vec3f(Vec3f::Zero());
  normals_ = surface_.normals(positions_);

  scene_ = triangle_scene(positions_, triangles_);
}

// Shares the triangles, which must stay where they are; ready for first_triangle().
EmbreeScene Painter::triangle_scene(std::span<const Vec3f> positions,
                                    std::span<const Triangle> triangles) const {
  EmbreeScene scene;
  scene.reset(rtcNewScene(device_.get()));
  rtcSetSceneFlags(scene.get(), static_cast<RTCSceneFlags>(RTC_SCENE_FLAG_ROBUST |
                                                           RTC_SCENE_FLAG_CONTEXT_FILTER_FUNCTION));
  if (options_.quality == ClayQuality::draft) rtcSetSceneBuildQuality(scene.get(), RTC_BUILD_QUALITY_LOW);
  RTCGeometry geometry = rtcNewGeometry(device_.get(), RTC_GEOMETRY_TYPE_TRIANGLE);
  auto* vertices = static_cast<float*>(rtcSetNewGeometryBuffer(
      geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3, sizeof(Vec3f), positions.size()));
  if (vertices != nullptr)
    for (std::size_t v = 0; v < positions.size(); ++v)
      std::copy(positions[v].data(), positions[v].data() + 3, vertices + 3 * v);
  rtcSetSharedGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3, triangles.data(), 0,
                             sizeof(Triangle), triangles.size());
  rtcCommitGeometry(geometry);
  rtcAttachGeometry(scene.get(), geometry);
  rtcReleaseGeometry(geometry);
  rtcCommitScene(scene.get());
  const RTCError error = rtcGetDeviceError(device_.get());
  if (error != RTC_ERROR_NONE)
    throw Error(fmt::format("Embree cannot build its tree over {} triangles (error {})", triangles.size(),
                            static_cast<int>(error)));
  return scene;
}

void Painter::build_ghost() {
  const ClayGhost& ghost = options_.ghost;
  if (ghost.surface == nullptr || ghost.surface->triangles().empty()) return;
  if (ghost.positions.size() != ghost.surface->vertex_count())
    throw Error(fmt::format("picture: {} positions for a ghost of {} vertices", ghost.positions.size(),
                            ghost.surface->vertex_count()));
  std::vector<Vec3f> positions(ghost.positions.size());
  const auto usable = [&](std::uint32_t v) { return positions[v].allFinite(); };
  for (std::size_t v = 0; v < positions.size(); ++v) positions[v] = unit(ghost.positions[v]);
  for (const Triangle& f : ghost.surface->triangles())
    ghost_triangles_.push_back(usable(f[0]) && usable(f[1]) && usable(f[2]) ? f : Triangle{f[0], f[0], f[0]});
  for (Vec3f& p : positions)
    if (!p.allFinite()) p = Vec3f::Zero();
  ghost_normals_ = ghost.surface->normals(positions);
  ghost_color_ = linear_from_srgb(ghost.color);
  ghost_ = triangle_scene(positions, ghost_triangles_);
}

// The bones as slim octahedra, widest near the head, with a ball at each joint.
void Painter::build_bones() {
  if (options_.bones.empty()) return;
  bones_.reset(rtcNewScene(device_.get()));
  std::vector<Vec3f> corners;
  std::vector<Triangle> faces;
  std::vector<Vec4f> balls;
  std::vector<Vec3f> face_colors, ball_colors;
  const float thickest = 6 * pixel_angle_ * (eye_.norm() + 1e-3f) + 0.012f;
  for (const DrawnBone& bone : options_.bones) {
    const Vec3f head = unit(bone.head), tail = unit(bone.tail);
    if (!head.allFinite() || !tail.allFinite() || head.norm() > 100 || tail.norm() > 100) continue;
    const Vec3f color = linear_from_srgb(bone.color);
    const float length = (tail - head).norm();
    const float radius = std::min(0.10f * length, thickest);
    balls.emplace_back(head.x(), head.y(), head.z(), std::max(0.8f * radius, 0.35f * thickest));
    ball_colors.push_back(color * 0.55f);
    if (!(length > 1e-6f)) continue;
    const Vec3f along = (tail - head) / length;
    const Basis across = basis_around(along);
    const auto first = static_cast<std::uint32_t>(corners.size());
    corners.push_back(head);
    for (const auto& [a, b] : {std::pair{1, 0}, {0, 1}, {-1, 0}, {0, -1}})
      corners.push_back(
          head + std::min(0.15f * length, 2.0f * radius) * along +
          radius * (static_cast<float>(a) * across.tangent + static_cast<float>(b) * across.bitangent));
    corners.push_back(tail);
    for (std::uint32_t k = 0; k < 4; ++k) {
      const std::uint32_t a = first + 1 + k, b = first + 1 + (k + 1) % 4;
      faces.push_back({first, b, a});
      faces.push_back({first + 5, a, b});
    }
    face_colors.insert(face_colors.end(), 8, color);
  }
  if (!faces.empty()) {
    RTCGeometry geometry = rtcNewGeometry(device_.get(), RTC_GEOMETRY_TYPE_TRIANGLE);
    void* vertices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT3,
                                             sizeof(Vec3f), corners.size());
    void* indices = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_INDEX, 0, RTC_FORMAT_UINT3,
                                            sizeof(Triangle), faces.size());
    if (vertices != nullptr) std::copy(corners.begin(), corners.end(), static_cast<Vec3f*>(vertices));
    if (indices != nullptr) std::copy(faces.begin(), faces.end(), static_cast<Triangle*>(indices));
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(bones_.get(), geometry, 0);
    rtcReleaseGeometry(geometry);
  }
  if (!balls.empty()) {
    RTCGeometry geometry = rtcNewGeometry(device_.get(), RTC_GEOMETRY_TYPE_SPHERE_POINT);
    void* points = rtcSetNewGeometryBuffer(geometry, RTC_BUFFER_TYPE_VERTEX, 0, RTC_FORMAT_FLOAT4,
                                           4 * sizeof(float), balls.size());
    if (points != nullptr) std::copy(balls.begin(), balls.end(), static_cast<Vec4f*>(points));
    rtcCommitGeometry(geometry);
    rtcAttachGeometryByID(bones_.get(), geometry, 1);
    rtcReleaseGeometry(geometry);
  }
  bone_faces_ = face_colors.size();
  bone_colors_ = std::move(face_colors);
  bone_colors_.insert(bone_colors_.end(), ball_colors.begin(), ball_colors.end());
  rtcCommitScene(bones_.get());
}

// Shortens a ray to the kept side of the cut; false when nothing of it is left.
bool Painter::clip(const Vec3f& origin, const Vec3f& direction, float& near, float& far) const {
  if (!has_cut_) return true;
  const float speed = cut_.normal.dot(direction), height = cut_.offset - cut_.normal.dot(origin);
  if (std::abs(speed) < 1e-12f) return height >= 0;
  const float t = height / speed;
  if (speed > 0)
    far = std::min(far, t);
  else
    near = std::max(near, t);
  return near < far;
}

RTCRay make_ray(const Vec3f& origin, const Vec3f& direction, float near, float far) {
  RTCRay ray{};
  ray.org_x = origin.x();
  ray.org_y = origin.y();
  ray.org_z = origin.z();
  ray.dir_x = direction.x();
  ray.dir_y = direction.y();
  ray.dir_z = direction.z();
  ray.tnear = near;
  ray.tfar = far;
  ray.mask = 0xffffffff;
  return ray;
}

// Embree hands the context back to the filter, which finds the best hit so far behind it.
struct TieContext {
  RTCIntersectContext embree;
  RTCHit hit;
  float t = kInfinity;
};

void keep_smallest(const RTCFilterFunctionNArguments* arguments) {
  auto* context = reinterpret_cast<TieContext*>(arguments->context);
  const float t = RTCRayN_tfar(arguments->ray, 1, 0);
  const std::uint32_t triangle = RTCHitN_primID(arguments->hit, 1, 0);
  if (triangle < context->hit.primID) {
    context->t = t;
    context->hit.primID = triangle;
    context->hit.u = RTCHitN_u(arguments->hit, 1, 0);
    context->hit.v = RTCHitN_v(arguments->hit, 1, 0);
  }
  arguments->valid[0] = 0;  // go on as if there had been no hit
}

// The nearest triangle seen in a direction. Which of several equally near ones Embree answers depends on how
// its threads built the tree; asking once more for all near the first and taking the smallest number does
// not.
bool Painter::first_triangle(const EmbreeScene& scene, const Vec3f& direction, RTCRayHit& query) const {
  float near = 0, far = kInfinity;
  if (!clip(eye_, direction, near, far)) return false;
  query.ray = make_ray(eye_, direction, near, far);
  query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  context.flags = RTC_INTERSECT_CONTEXT_FLAG_COHERENT;
  rtcIntersect1(scene.get(), &context, &query);
  if (query.hit.geomID == RTC_INVALID_GEOMETRY_ID) return false;
  const float nearest = query.ray.tfar, window = kTie * std::max(1.0f, nearest);
  TieContext tie;
  rtcInitIntersectContext(&tie.embree);
  tie.embree.filter = keep_smallest;
  tie.hit = query.hit;
  tie.t = nearest;
  RTCRayHit again;
  again.ray = make_ray(eye_, direction, std::max(near, nearest - window), std::min(far, nearest + window));
  again.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  rtcIntersect1(scene.get(), &tie.embree, &again);
  query.hit = tie.hit;
  query.ray.tfar = tie.t;
  return true;
}

Point Painter::look(const Vec3f& direction) const {
  Point point;
  RTCRayHit query;
  if (first_triangle(scene_, direction, query)) {
    const Triangle& f = triangles_[query.hit.primID];
    const Triangle& slots = surface_.corner_normals()[query.hit.primID];
    point.seen = Seen::surface;
    point.triangle = query.hit.primID;
    point.u = query.hit.u;
    point.v = query.hit.v;
    point.t = query.ray.tfar;
    const float weights[3] = {1 - point.u - point.v, point.u, point.v};
    const Vec3f &a = positions_[f[0]], &b = positions_[f[1]], &c = positions_[f[2]];
    point.position = weights[0] * a + weights[1] * b + weights[2] * c;
    Vec3f flat = (b - a).cross(c - a);
    flat /= std::max(flat.norm(), 1e-30f);
    const bool from_behind = flat.dot(direction) > 0;
    point.back = from_behind && surface_.two_sided()[point.triangle] == 0;
    const float side = from_behind ? -1.0f : 1.0f;
    flat *= side;
    Vec3f normal = Vec3f::Zero();
    // Hanika 2021, "Hacking the shadow terminator": rays to lights leave from the surface that the smooth
    // normals stand for, or facets would shade themselves.
    Vec3f lift = Vec3f::Zero();
    for (int k = 0; k < 3; ++k) {
      const Vec3f corner_normal = side * normals_[slots[k]];
      normal += weights[k] * corner_normal;
      const float below = std::min(0.0f, (point.position - positions_[f[k]]).dot(corner_normal));
      lift -= weights[k] * below * corner_normal;
    }
    const float length = normal.norm();
    normal = length > 1e-6f ? Vec3f(normal / length) : flat;
    if (normal.dot(flat) < 0) normal = flat;  // a fold that smooth normals do not see
    // At silhouettes the smooth normal may turn away from the camera though the triangle does not.
    const Vec3f view = -direction.normalized();
    const float facing = normal.dot(view);
    if (facing < 0.02f) normal = (normal + (0.02f - facing) * view).normalized();
    point.normal = normal;
    point.ray_start = point.position + kRayStart * flat;
    point.lift = lift;
    return point;
  }
  if (has_floor_ && direction.y() < 0) {
    const float t = (floor_ - eye_.y()) / direction.y();
    const Vec3f position = eye_ + t * direction;
    if (position.squaredNorm() < 25) {
      point.seen = Seen::floor;
      point.t = t;
      point.position = position;
      point.normal = Vec3f::UnitY();
      point.ray_start = position + Vec3f(0, kRayStart, 0);
    }
  }
  return point;
}

bool Painter::blocked(const Vec3f& origin, const Vec3f& direction, float far) const {
  float near = 0;
  if (!clip(origin, direction, near, far)) return false;
  RTCRay ray = make_ray(origin, direction, near, far);
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcOccluded1(scene_.get(), &context, &ray);
  return ray.tfar < 0;
}

Light Painter::light_at(const Point& point, std::uint32_t place) const {
  Light light;
  const Basis basis = basis_around(point.normal);
  // In a narrow fold the smooth surface may lie behind the other wall.
  const bool lifted = !point.lift.isZero(0) && !blocked(point.ray_start, point.lift, 1.5f);
  const Vec3f start = lifted ? Vec3f(point.ray_start + point.lift) : point.ray_start;
  float open = 0;
  const bool far_off = box_.exteriorDistance(point.position) > reach_;
  if (far_off) open = static_cast<float>(quality_.sky_rays);
  const std::size_t first_sky = place * to_size(quality_.sky_rays);
  for (std::size_t i = first_sky; i < first_sky + to_size(quality_.sky_rays) && !far_off; ++i) {
    const Vec4f& ray = sky_rays_[i];
    const Vec3f direction = ray.x() * basis.tangent + ray.y() * basis.bitangent + ray.z() * point.normal;
    open += blocked(start, direction, reach_ * ray.w()) ? 0.0f : 1.0f;
  }
  light.sky = open / static_cast<float>(quality_.sky_rays);
  // Rays from the floor that pass the unit ball round the character meet nothing.
  const float passing = point.position.cross(to_key_).norm();
  if (passing > 1.05f + kKeyRadius * point.position.norm()) {
    light.key = 1;
  } else if (point.normal.dot(to_key_) > -kKeyRadius) {
    float lit = 0, above = 0;
    const std::size_t first_key = place * to_size(quality_.key_rays);
    for (std::size_t i = first_key; i < first_key + to_size(quality_.key_rays); ++i) {
      const Vec3f& direction = key_rays_[i];
      // What lies below the horizon is accounted for by the shading.
      if (direction.dot(point.normal) <= 0) continue;
      ++above;
      lit += blocked(start, direction, kInfinity) ? 0.0f : 1.0f;
    }
    light.key = above > 0 ? lit / above : 0.0f;
  } else {
    light.key = 0;
  }
  return light;
}

void Painter::gather_light(int row) {
  for (int x = 0; x < options_.width; ++x) {
    const Vec3f direction = direction_at(static_cast<float>(x) + 0.5f, static_cast<float>(row) + 0.5f);
    const Point point = look(direction);
    PixelLight& pixel = lights_[to_size(row) * options_.width + x];
    pixel.seen = point.seen;
    RTCRayHit overlay;
    pixel.overlaid =
        (bones_ && first_bone(direction, overlay)) || (ghost_ && first_triangle(ghost_, direction, overlay));
    if (point.seen == Seen::nothing) continue;
    pixel.back = point.back;
    pixel.triangle = point.triangle;
    pixel.u = point.u;
    pixel.v = point.v;
    pixel.position = point.position;
    pixel.normal = point.normal;
    pixel.light = light_at(point, pattern_place(x, row));
  }
}

// How much the light found at `pixel` says about a point: 0 across edges.
float likeness(const PixelLight& pixel, Seen seen, const Vec3f& position, const Vec3f& normal,
               float pixel_size) {
  if (pixel.seen != seen) return 0;
  const float along = pixel.normal.dot(normal);
  if (along < 0.85f) return 0;
  const Vec3f apart = pixel.position - position;
  const float off = std::max(std::abs(apart.dot(normal)), std::abs(apart.dot(pixel.normal)));
  // Farther off than a curved surface could be within the window, or seen too flat to tell.
  const float allowed = 2 * pixel_size + 0.25f * apart.norm();
  if (off > allowed) return 0;
  return (along - 0.85f) / 0.15f;
}

void Painter::smooth_light(int row) {
  constexpr float kWeights[5] = {0.5f, 1, 1, 1, 0.5f};  // sums to the pattern's 4
  for (int x = 0; x < options_.width; ++x) {
    const std::size_t here = to_size(row) * options_.width + x;
    const PixelLight& pixel = lights_[here];
    if (pixel.seen == Seen::nothing) continue;
    const float pixel_size = pixel_angle_ * (pixel.position - eye_).norm();
    float sum = 0, sky = 0, key = 0;
    for (int j = -2; j <= 2; ++j) {
      const int y = row + j;
      if (y < 0 || y >= options_.height) continue;
      for (int i = -2; i <= 2; ++i) {
        const int column = x + i;
        if (column < 0 || column >= options_.width) continue;
        const PixelLight& other = lights_[to_size(y) * options_.width + column];
        const float weight = kWeights[i + 2] * kWeights[j + 2] *
                             likeness(other, pixel.seen, pixel.position, pixel.normal, pixel_size);
        sum += weight;
        sky += weight * other.light.sky;
        key += weight * other.light.key;
      }
    }
    smoothed_[here] = sum > 0 ? Light{sky / sum, key / sum} : pixel.light;
  }
}

Light Painter::look_up(const Point& point, float x, float y, std::uint32_t place) const {
  const int left = static_cast<int>(std::floor(x - 0.5f)), top = static_cast<int>(std::floor(y - 0.5f));
  const float right_share = x - 0.5f - static_cast<float>(left),
              bottom_share = y - 0.5f - static_cast<float>(top);
  const float pixel_size = pixel_angle_ * (point.position - eye_).norm();
  float sum = 0, sky = 0, key = 0;
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < 2; ++i) {
      const int column = left + i, row = top + j;
      if (column < 0 || row < 0 || column >= options_.width || row >= options_.height) continue;
      const std::size_t there = to_size(row) * options_.width + column;
      const float weight = (i == 1 ? right_share : 1 - right_share) *
                           (j == 1 ? bottom_share : 1 - bottom_share) *
                           likeness(lights_[there], point.seen, point.position, point.normal, pixel_size);
      sum += weight;
      sky += weight * smoothed_[there].sky;
      key += weight * smoothed_[there].key;
    }
  return sum > 0.02f ? Light{sky / sum, key / sum} : light_at(point, place);
}

Vec3f Painter::albedo_of(const Point& point) const {
  if (point.back) return back_color_;
  if (colors_.empty()) return clay_;
  const Triangle& f = triangles_[point.triangle];
  if (sharp_colors_) return colors_[nearest_corner(point)];
  return (1 - point.u - point.v) * colors_[f[0]] + point.u * colors_[f[1]] + point.v * colors_[f[2]];
}

Vec3f Painter::shade(const Point& point, const Light& light, const Vec3f& albedo,
                     const Vec3f& to_camera) const {
  const Vec3f& n = point.normal;
  const Vec3f sky_color(0.96f, 0.98f, 1.04f), bounce_color(1.0f, 0.94f, 0.88f);
  const Vec3f key_color(1.04f, 1.0f, 0.95f), fill_color(0.88f, 0.95f, 1.08f);
  // Folds read by their shade: light that bounces between walls would lift it, the power keeps it down.
  const float open = std::pow(light.sky, 1.25f);
  const float upwards = 0.5f + 0.5f * n.y();
  const float key = soft_cosine(n.dot(to_key_)) * light.key;
  const float fill = std::pow(0.5f + 0.5f * n.dot(to_fill_), 2.0f);
  const float facing = clamp01(n.dot(to_camera));
  const float rim = clamp01(n.dot(to_rim_) + 0.25f) * std::pow(1 - facing, 3.0f);
  const Vec3f half = (to_key_ + to_camera).normalized();
  const float sheen = 0.05f * light.key * std::pow(clamp01(n.dot(half)), 24.0f);
  Vec3f arriving = open * ((0.27f * upwards) * sky_color + (0.15f * (1 - upwards)) * bounce_color +
                           (0.19f * fill) * fill_color) +
                   (0.95f * key) * key_color + Vec3f::Constant(0.35f * rim * open);
  const Vec3f color = albedo.cwiseProduct(arriving) + Vec3f::Constant(sheen);
  return {film(color.x()), film(color.y()), film(color.z())};
}

Vec2f Painter::pixel_of(const Vec3f& p, float* depth) const {
  const Vec3f offset = p - eye_;
  *depth = -offset.dot(back_);
  const float x = offset.dot(right_) / *depth, y = offset.dot(up_) / *depth;
  return {static_cast<float>(options_.width) * 0.5f + x / pixel_angle_,
          static_cast<float>(options_.height) * 0.5f - y / pixel_angle_};
}

// Share of a wire at a point of the picture: distance to the triangle's sides there, in pixels.
float Painter::wire_coverage(const Point& point, const Vec2f& pixel) const {
  const Triangle& f = triangles_[point.triangle];
  Vec2f corner[3];
  for (int k = 0; k < 3; ++k) {
    float depth;
    corner[k] = pixel_of(positions_[f[k]], &depth);
    if (!(depth > 1e-4f)) return 0;
  }
  float nearest = kInfinity, longest = 0;
  for (int k = 0; k < 3; ++k) {
    const Vec2f side = corner[(k + 1) % 3] - corner[k], offset = pixel - corner[k];
    const float length = side.norm();
    longest = std::max(longest, length);
    if (length > 1e-6f)
      nearest = std::min(nearest, std::abs(side.x() * offset.y() - side.y() * offset.x()) / length);
  }
  const float half = 0.5f * options_.wire_width;
  // Where triangles are only a few pixels wide their wires would blacken the surface.
  const float roomy = smooth_step(1.5f, 9.0f, longest);
  return roomy * (1 - smooth_step(half - 0.4f, half + 0.4f, nearest));
}

bool Painter::first_bone(const Vec3f& direction, RTCRayHit& query) const {
  query.ray = make_ray(eye_, direction, 0, kInfinity);
  query.hit.geomID = RTC_INVALID_GEOMETRY_ID;
  RTCIntersectContext context;
  rtcInitIntersectContext(&context);
  rtcIntersect1(bones_.get(), &context, &query);
  return query.hit.geomID != RTC_INVALID_GEOMETRY_ID;
}

Vec3f Painter::with_bones(const Vec3f& color, const Vec3f& direction, const Point& behind) const {
  RTCRayHit query;
  if (!first_bone(direction, query)) return color;
  Vec3f normal(query.hit.Ng_x, query.hit.Ng_y, query.hit.Ng_z);
  normal.normalize();
  if (normal.dot(direction) > 0) normal = -normal;
  const Vec3f& base = bone_colors_[query.hit.primID + (query.hit.geomID == 0 ? 0 : bone_faces_)];
  const float bright = 0.45f + 0.75f * clamp01(normal.dot(to_key_)) + 0.2f * clamp01(normal.dot(back_));
  const bool inside = behind.seen == Seen::surface && query.ray.tfar > behind.t;
  const float alpha = inside ? 0.72f : 0.97f;
  return (1 - alpha) * color + alpha * (bright * base).cwiseMin(1.0f);
}

// Glass: the flatter the surface is seen, the more of it the ray passes through. Drawn whatever lies before
// it: a skin and what fills it lie so close together that they would change places all the time.
Vec3f Painter::with_ghost(const Vec3f& color, const Vec3f& direction) const {
  RTCRayHit query;
  if (!first_triangle(ghost_, direction, query)) return color;
  const Triangle& slots = options_.ghost.surface->corner_normals()[query.hit.primID];
  const Vec3f normal = (1 - query.hit.u - query.hit.v) * ghost_normals_[slots[0]] +
                       query.hit.u * ghost_normals_[slots[1]] + query.hit.v * ghost_normals_[slots[2]];
  const float facing =
      clamp01(std::abs(normal.dot(direction)) / std::max(normal.norm() * direction.norm(), 1e-12f));
  const float edge = (1 - facing) * (1 - facing);
  const float opacity = clamp01(options_.ghost.opacity);
  const float alpha = opacity + (std::max(opacity, 0.9f) - opacity) * edge;
  return (1 - alpha) * color + alpha * ghost_color_;
}

// Whether the pixel and all round it show one smooth piece of one thing, so that a single point will do.
bool Painter::is_plain(int x, int row) const {
  const int width = options_.width, height = options_.height;
  const PixelLight& pixel = lights_[to_size(row) * width + x];
  const float pixel_size = pixel_angle_ * (pixel.position - eye_).norm();
  for (int y = std::max(0, row - 1); y <= std::min(height - 1, row + 1); ++y)
    for (int column = std::max(0, x - 1); column <= std::min(width - 1, x + 1); ++column) {
      const PixelLight& other = lights_[to_size(y) * width + column];
      if (other.overlaid) return false;
      if (sharp_colors_ && pixel.seen == Seen::surface && other.seen == Seen::surface &&
          nearest_corner(pixel) != nearest_corner(other))
        return false;
      if (pixel.seen == Seen::nothing
              ? other.seen != Seen::nothing
              : other.back != pixel.back ||
                    likeness(other, pixel.seen, pixel.position, pixel.normal, pixel_size) < 0.3f)
        return false;
    }
  return true;
}

Vec3f Painter::color_of(const Point& point, const Light& light, const Vec3f& direction, const Vec2f& pixel,
                        const Vec3f& backdrop) const {
  switch (point.seen) {
    case Seen::nothing:
      return backdrop;
    case Seen::floor: {
      const float fade = 1 - smooth_step(1.2f, 4.5f, point.position.norm());
      const float dark = 0.62f * (1 - light.sky) + 0.36f * (1 - light.key) * light.sky;
      return backdrop * (1 - fade * dark);
    }
    case Seen::surface:
      break;
  }
  const Vec3f color = shade(point, light, albedo_of(point), -direction.normalized());
  return options_.wireframe ? Vec3f(color * (1 - 0.68f * wire_coverage(point, pixel))) : color;
}

void Painter::shade_row(int row, Image& image) const {
  const int width = options_.width;
  const float downwards = (static_cast<float>(row) + 0.5f) / static_cast<float>(options_.height);
  const Vec3f backdrop =
      backdrop_top_ + smooth_step(0.15f, 1.0f, downwards) * (backdrop_bottom_ - backdrop_top_);
  const Rgb backdrop_rgb = srgb_from_linear(backdrop);
  for (int x = 0; x < width; ++x) {
    const std::size_t here = to_size(row) * width + x;
    const bool dither = options_.quality == ClayQuality::final && lights_[here].seen != Seen::surface;
    if (!dither && lights_[here].seen == Seen::nothing && is_plain(x, row)) {
      image.pixels[here] = backdrop_rgb;
      continue;
    }
    Vec3f sum = Vec3f::Zero();
    int samples = quality_.samples;
    const bool surface_wires = options_.wireframe && lights_[here].seen == Seen::surface;
    if (!surface_wires && is_plain(x, row)) {
      const PixelLight& pixel = lights_[here];
      Point point;
      point.seen = pixel.seen;
      point.back = pixel.back;
      point.triangle = pixel.triangle;
      point.u = pixel.u;
      point.v = pixel.v;
      point.position = pixel.position;
      point.normal = pixel.normal;
      const Vec2f middle(static_cast<float>(x) + 0.5f, static_cast<float>(row) + 0.5f);
      sum = color_of(point, smoothed_[here], direction_at(middle.x(), middle.y()), middle, backdrop);
      samples = 1;
    } else {
      for (int s = 0; s < samples; ++s) {
        const auto [dx, dy] = sobol(static_cast<std::uint32_t>(s));
        const float half = 0.5f / static_cast<float>(samples);
        const Vec2f pixel(static_cast<float>(x) + 0.5f + kFilterWidth * (dx + half - 0.5f),
                          static_cast<float>(row) + 0.5f + kFilterWidth * (dy + half - 0.5f));
        const Vec3f direction = direction_at(pixel.x(), pixel.y());
        const Point point = look(direction);
        Light light;
        if (point.seen != Seen::nothing) light = look_up(point, pixel.x(), pixel.y(), pattern_place(x, row));
        Vec3f color = color_of(point, light, direction, pixel, backdrop);
        if (ghost_) color = with_ghost(color, direction);
        sum += bones_ ? with_bones(color, direction, point) : color;
      }
    }
    const Vec3f linear = sum / static_cast<float>(samples);
    image.pixels[here] = dither ? dithered(linear, x, row) : srgb_from_linear(linear);
  }
}

// The outline of the cut: where the plane meets the triangles, as far as it is not hidden.
void Painter::draw_cut(Image& image) const {
  std::vector<Stroke> strokes;
  for (const auto& crossing : plane_section(positions_, triangles_, cut_.normal, cut_.offset)) {
    const Vec3f middle = 0.5f * (crossing[0] + crossing[1]), towards = (eye_ - middle).normalized();
    if (blocked(middle + 10 * kRayStart * towards, towards, (eye_ - middle).norm())) continue;
    float from_depth, to_depth;
    const Stroke stroke{pixel_of(crossing[0], &from_depth), pixel_of(crossing[1], &to_depth)};
    if (from_depth > 1e-4f && to_depth > 1e-4f) strokes.push_back(stroke);
  }
  const float width = std::max(1.6f, 0.0026f * static_cast<float>(std::min(image.width, image.height)));
  draw_strokes(image, strokes, width, {24, 30, 44}, 0.92f);
}

Image Painter::paint(const Progress& progress) {
  Image image(options_.width, options_.height);
  lights_.resize(image.pixels.size());
  smoothed_.resize(image.pixels.size());
  const auto for_rows = [&](const auto& body) {
    parallel_blocks(to_size(options_.height), kRowsPerTask, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) body(static_cast<int>(row));
    });
  };
  report_progress(progress, 0);
  for_rows([&](int row) { gather_light(row); });
  report_progress(progress, 0.6);
  for_rows([&](int row) { smooth_light(row); });
  for_rows([&](int row) { shade_row(row, image); });
  if (has_cut_) draw_cut(image);
  report_progress(progress, 1);
  return image;
}

}  // namespace

CutPlane plane_through(const Vec3d& point, const Vec3d& normal) {
  const double length = normal.stableNorm();
  if (!point.allFinite() || !std::isfinite(length) || !(length > 0))
    throw Error(fmt::format("there is no plane through ({}, {}, {}) with the normal ({}, {}, {})", point.x(),
                            point.y(), point.z(), normal.x(), normal.y(), normal.z()));
  const Vec3d unit = normal / length;
  return {unit.cast<float>(), static_cast<float>(unit.dot(point))};
}

Image render_clay(const DrawnSurface& surface, const ClayFrame& frame, const Camera& camera,
                  const ClayOptions& options, const Progress& progress) {
  return Painter(surface, frame, camera, options).paint(progress);
}

}  // namespace sinew
