#include "tests/support/random_soup.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/support/damage.h"
#include "tests/support/meshes.h"

namespace sinew::test {

namespace {

constexpr double kFarthest = 1e15;  // metres: no bone may be farther away

class SoupMaker {
 public:
  explicit SoupMaker(std::uint32_t seed) : random_(seed) {}

  RandomSoup make() {
    Mesh whole = surface();
    if (chance(0.5)) whole = join(whole, boxed_button());
    TracedMesh mesh = traced(whole.view());
    if (chance(0.5)) mesh = torn(mesh);
    // Bones are placed by the surface's box, so they come before it is scaled.
    what_ += ", ";
    std::vector<Bone> bones = bones_for(mesh);
    const double scale = chance(0.5) ? 1 : std::pow(10, number(-6, 6));
    const Vec3d shift = chance(0.7) ? Vec3d::Zero().eval() : (100 * scale * point()).eval();
    mesh = placed(mesh, scale, shift);
    for (Bone& bone : bones) {
      bone.head = mesh.placement * bone.head;
      bone.tail = (mesh.placement * bone.tail).cwiseMax(-kFarthest).cwiseMin(kFarthest);
    }
    return {what_, mesh.positions, mesh.triangles, bones};
  }

 private:
  bool chance(double share) { return number(0, 1) < share; }
  double number(double low, double high) {
    return low + (high - low) * (static_cast<double>(random_()) / 4294967296.0);
  }
  int whole(int low, int high) { return low + static_cast<int>(number(0, high - low + 1)); }
  Vec3d point() {
    const double x = number(-1, 1), y = number(-1, 1), z = number(-1, 1);
    return {x, y, z};
  }
  std::uint32_t vertex(std::size_t count) {
    return static_cast<std::uint32_t>(number(0, static_cast<double>(count)));
  }

  void add_triangles(std::vector<Triangle>& triangles, std::size_t vertices, int count) {
    for (int t = 0; t < count; ++t) {
      const std::uint32_t a = vertex(vertices), b = vertex(vertices), c = vertex(vertices);
      triangles.push_back({a, b, c});
    }
  }

  Mesh soup(const char* kind, double (*coordinate)(double)) {
    what_ = kind;
    std::vector<Vec3f> positions;
    const int count = whole(3, 40);
    for (int v = 0; v < count; ++v) positions.push_back(point().unaryExpr(coordinate).cast<float>());
    std::vector<Triangle> triangles;
    add_triangles(triangles, positions.size(), whole(1, 80));
    return make_mesh(std::move(positions), triangles);
  }

  Mesh squeezed(Mesh mesh, const Vec3f& factors) {
    for (Vec3f& p : mesh.positions) p = p.cwiseProduct(factors);
    return mesh;
  }

  Mesh turned(Mesh mesh) {
    const Vec3f axis = point().normalized().cast<float>();
    const Quatf turn(Eigen::AngleAxisf(static_cast<float>(number(0, 6)), axis));
    for (Vec3f& p : mesh.positions) p = turn * p;
    return mesh;
  }

  Mesh surface() {
    switch (whole(0, 11)) {
      case 0:
        return soup("soup", [](double x) { return x; });
      case 1:
        return soup("lattice soup", [](double x) { return std::round(x); });
      case 2:
        what_ = "sphere";
        return make_icosphere(whole(0, 2));
      case 3: {
        what_ = "tube";
        const int around = whole(3, 9), along = whole(1, 9);
        const auto radius = static_cast<float>(number(0.05, 0.3));
        return make_tube(around, along, radius, 1, chance(0.5));
      }
      case 4:
        what_ = "plate";
        return squeezed(make_icosphere(2), {1, 1, chance(0.3) ? 0.0f : 1e-3f});
      case 5: {
        what_ = "branches";
        Mesh mesh = make_tube(7, 5, 0.15f, 1, true);
        for (int k = whole(1, 3); k > 0; --k)
          mesh = join(mesh, turned(make_tube(6, 4, 0.1f, 1, chance(0.5))));
        return mesh;
      }
      case 6:
        what_ = "torus";
        return make_torus(whole(3, 9), 5);
      case 7: {
        what_ = "points";
        Mesh mesh = make_icosphere(1);
        return make_mesh(mesh.positions, std::vector<Triangle>{});
      }
      case 8:
        what_ = "line";
        return turned(squeezed(soup(what_.c_str(), [](double x) { return x; }), {1, 0, 0}));
      case 9: {
        what_ = "one point";
        return moved(squeezed(make_icosphere(1), Vec3f::Zero()), point().cast<float>());
      }
      case 10: {
        what_ = "shells in shells";
        Mesh mesh = make_icosphere(1);
        for (int k = whole(1, 3); k > 0; --k)
          mesh = join(mesh, moved(make_icosphere(1), Vec3f::Zero(), 1.0f / static_cast<float>(k + 1)));
        return mesh;
      }
      default:
        what_ = "slivers";
        return squeezed(make_icosphere(2), {static_cast<float>(std::pow(10, number(-6, 0))), 1,
                                            static_cast<float>(std::pow(10, number(-6, 0)))});
    }
  }

  /// Something that sees no bone, unless one leads through its box.
  Mesh boxed_button() {
    what_ += " with a button in a box";
    return moved(join(make_icosphere(0, 0.05f), make_cube(0.2f)), (1.2 * point()).cast<float>());
  }

  TracedMesh torn(TracedMesh mesh) {
    what_ = "torn " + what_;
    if (chance(0.5) && !mesh.triangles.empty()) {
      const std::size_t wanted = mesh.triangles.size() * 4 / 5;
      while (mesh.triangles.size() > wanted)
        mesh.triangles.erase(mesh.triangles.begin() + vertex(mesh.triangles.size()));
    }
    if (chance(0.5)) add_triangles(mesh.triangles, mesh.positions.size(), 5);
    if (chance(0.3)) mesh = flipped_faces(mesh, 0.3, random_());
    if (chance(0.3)) mesh = duplicate_vertices(mesh, 0.2, random_());
    if (chance(0.3)) mesh = zero_area_faces(mesh, 0.2, random_());
    if (chance(0.3)) mesh = t_junctions(mesh, 0.2, random_());
    if (chance(0.3)) mesh = islands(mesh, 10, random_());
    if (chance(0.2)) mesh = internal_faces(mesh, 2);
    if (chance(0.1)) mesh = glued_double(mesh);
    if (chance(0.1)) mesh = unwelded(mesh);
    if (mesh.positions.empty()) mesh = traced(make_cube().view());
    return mesh;
  }

  std::vector<Bone> bones_for(const TracedMesh& mesh) {
    const Vec3d middle = middle_of(mesh).cast<double>();
    const double size = std::max(1e-3, static_cast<double>(size_of(mesh)));
    const auto in_box = [&](double reach) { return (middle + reach * size * point()).eval(); };
    const auto on_surface = [&] {
      return mesh.positions[vertex(mesh.positions.size())].cast<double>().eval();
    };
    const int kind = whole(0, 7);
    static constexpr const char* kKinds[] = {"bones inside",     "bones outside",  "bones on the surface",
                                             "points for bones", "the same bones", "bones in one point",
                                             "one bone",         "far bones"};
    what_ += kKinds[kind];
    const Vec3d head = in_box(0.3), tail = in_box(0.3);
    std::vector<Bone> bones;
    for (int b = kind == 6 ? 1 : whole(2, 12); b > 0; --b) {
      Bone bone{whole(0, 63), -1, in_box(0.3), in_box(0.3)};
      switch (kind) {
        case 1:
          bone.tail = bone.head += 2 * size * point().normalized(), bone.tail += 0.5 * size * point();
          break;
        case 2:
          bone.head = on_surface(), bone.tail = on_surface();
          break;
        case 3:
          bone.tail = bone.head;
          break;
        case 4:
          bone.head = head, bone.tail = tail;
          break;
        case 5:
          bone.head = bone.tail = head;
          break;
        case 7:
          bone.tail *= std::pow(10, number(3, chance(0.1) ? 15 : 9));
          break;
        default:
          break;
      }
      bones.push_back(bone);
    }
    return bones;
  }

  std::mt19937 random_;
  std::string what_;
};

}  // namespace

RandomSoup make_random_soup(std::uint32_t seed) {
  return SoupMaker(seed).make();
}

}  // namespace sinew::test
