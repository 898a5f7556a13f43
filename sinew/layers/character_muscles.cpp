#include <sinew/layers/character_muscles.h>

#include <algorithm>
#include <map>
#include <numbers>
#include <string>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/pattern.h>
#include <sinew/geometry/ray_query.h>
#include <sinew/geometry/segment.h>
#include <sinew/implicit/field_set.h>

namespace sinew {

namespace {

constexpr double kUsualRadius = 0.45;  // of the distance from bone to skin
constexpr double kDeepestEnd = 0.75;   // of that distance where the muscle ends: limbs taper
constexpr std::size_t kMostNamed = 12;

/// "a, b, c": for messages; long lists are cut off.
std::string joined_names(std::span<const std::string> names) {
  std::string all;
  for (std::size_t i = 0; i < std::min(names.size(), kMostNamed); ++i)
    all.append(all.empty() ? "" : ", ").append(names[i]);
  return names.size() > kMostNamed ? all + ", …" : all;
}

/// Surfaces of single meshes, made when they are asked for.
class MeshSurfaces {
 public:
  explicit MeshSurfaces(const Character& character) : character_(character) {}

  const SurfaceQuery& operator[](std::size_t mesh) {
    const auto found = queries_.find(mesh);
    if (found != queries_.end()) return found->second;
    const std::size_t first = character_.meshes()[mesh].first_vertex;
    const std::size_t last = mesh + 1 < character_.meshes().size()
                                 ? character_.meshes()[mesh + 1].first_vertex
                                 : character_.rest().size();
    std::vector<Triangle> triangles;
    for (const Triangle& t : character_.triangles())
      if (t[0] >= first && t[0] < last) triangles.push_back(t);
    return queries_.emplace(mesh, SurfaceQuery(MeshView{character_.rest(), triangles})).first->second;
  }

 private:
  const Character& character_;
  std::map<std::size_t, SurfaceQuery> queries_;
};

class MuscleMaker {
 public:
  MuscleMaker(const Character& character, const RestJoints& joints, MeshSurfaces& surfaces,
              const MuscleChoice& choice, std::string where)
      : skeleton_(character.skeleton()),
        joints_(joints),
        surfaces_(surfaces),
        choice_(choice),
        where_(std::move(where)) {}

  Muscle make(std::uint32_t host, const FieldSource& source) const {
    Muscle muscle;
    muscle.host = host;
    muscle.origin_transform = muscle.insertion_transform = static_cast<std::uint32_t>(source.binding);
    if (!choice_.insertion_joint.empty())
      muscle.insertion_transform =
          bound(source, nearest_fit("insertion_joint", choice_.insertion_joint, source.joint));
    muscle.swell = choice_.swell;
    muscle.lift = choice_.lift;
    muscle.full_angle = choice_.angle * kDegree;
    const int driver = choice_.driver.empty() ? joint_at_end(source.joint)
                                              : nearest_fit("driver", choice_.driver, source.joint);
    set_driver(muscle, source, driver);
    const BoneSegment bone = bone_towards(source, driver);
    if (choice_.ends.empty())
      place_beside(muscle, source, bone);
    else
      place_between(muscle, source);
    const Vec3d middle = (muscle.origin + muscle.insertion) / 2;
    const Vec3d away = across(middle - nearest_on_segment(bone.head, bone.tail, middle), bone);
    if (away.norm() > 1e-6 * muscle.radius) muscle.outwards = away.normalized();
    return muscle;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(fmt::format("{}: {}", where_, what)); }

  const std::string& name(int joint) const { return skeleton_.joints[to_size(joint)].name; }
  int parent(int joint) const { return skeleton_.joints[to_size(joint)].parent; }

  /// Joints on the way from one to the other; the skeleton's size where there is none.
  int steps_between(int a, int b) const {
    for (int up = 0; a >= 0; ++up, a = parent(a)) {
      int down = 0;
      for (int other = b; other >= 0; ++down, other = parent(other))
        if (other == a) return up + down;
    }
    return static_cast<int>(skeleton_.size());
  }

  int nearest_fit(std::string_view field, const std::string& pattern, int host) const {
    int best = -1, least = 0;
    bool tie = false;
    for (int j = 0; j < static_cast<int>(skeleton_.size()); ++j) {
      if (!matches_pattern(name(j), pattern)) continue;
      const int steps = steps_between(host, j);
      if (best >= 0 && steps == least) tie = true;
      if (best < 0 || steps < least) best = j, least = steps, tie = false;
    }
    if (best < 0)
      fail(fmt::format("{}: no joint is named '{}'; near '{}' there are {}", field, pattern, name(host),
                       names_near(host)));
    if (tie)
      fail(fmt::format("{}: '{}' fits several joints equally near to '{}', such as '{}'; name one of them",
                       field, pattern, name(host), name(best)));
    return best;
  }

  std::string names_near(int host) const {
    std::vector<std::string> names;
    for (int j = 0; j < static_cast<int>(skeleton_.size()); ++j)
      if (steps_between(host, j) <= 2) names.push_back(name(j));
    return joined_names(names);
  }

  int joint_at_end(int host) const {
    std::vector<std::string> names;
    int child = -1;
    for (const Bone& bone : joints_.bones_of(host))
      if (bone.child >= 0) child = bone.child, names.push_back(name(child));
    if (names.empty())
      fail(fmt::format("driver: '{}' has no joint at its end; name the joint whose bend is meant",
                       name(host)));
    if (names.size() > 1)
      fail(fmt::format("driver: '{}' leads to several joints: {}; name the one whose bend is meant",
                       name(host), joined_names(names)));
    return child;
  }

  std::uint32_t bound(const FieldSource& source, int joint) const {
    const int binding = joints_.binding_beside(source.binding, joint);
    if (binding < 0) fail(fmt::format("joint '{}' is bound to no skin; name one that is", name(joint)));
    return static_cast<std::uint32_t>(binding);
  }

  void set_driver(Muscle& muscle, const FieldSource& source, int driver) const {
    muscle.driver_transform = bound(source, driver);
    int before = parent(driver);
    while (before >= 0 && joints_.binding_beside(source.binding, before) < 0) before = parent(before);
    if (before < 0)
      fail(fmt::format("driver: '{}' has no joint before it that it could bend against; name one that has",
                       name(driver)));
    muscle.driver_parent_transform = bound(source, before);
    Vec3d direction = Vec3d::Zero();
    for (const Bone& bone : joints_.bones_of(driver))
      direction += joints_.tail(muscle.driver_transform, bone) - joints_.place(muscle.driver_transform);
    if (direction.allFinite() && direction.norm() > 0) muscle.driver_bone = direction.normalized();
  }

  /// Of the host's bones, the one that leads to the driver, or the longest.
  BoneSegment bone_towards(const FieldSource& source, int driver) const {
    BoneSegment best;
    best.head = best.tail = joints_.place(source.binding);
    double longest = -1;
    for (const Bone& bone : joints_.bones_of(source.joint)) {
      const Vec3d tail = joints_.tail(source.binding, bone);
      if (!tail.allFinite()) continue;
      const double length = (tail - best.head).norm();
      int below = driver;
      while (below >= 0 && below != bone.child) below = parent(below);
      if (below >= 0) {
        best.tail = tail;
        return best;
      }
      if (length > longest) longest = length, best.tail = tail;
    }
    return best;
  }

  static Vec3d across(const Vec3d& direction, const BoneSegment& bone) {
    const Vec3d along = bone.tail - bone.head;
    return along.squaredNorm() > 0 ? Vec3d(direction - direction.dot(along) / along.squaredNorm() * along)
                                   : direction;
  }

  void place_beside(Muscle& muscle, const FieldSource& source, const BoneSegment& bone) const {
    if (!(choice_.from < choice_.to))
      fail(fmt::format("from {} to {}: it must end after its beginning", choice_.from, choice_.to));
    const Vec3d along = bone.tail - bone.head;
    Vec3d side = across(choice_.side_direction(), bone);
    // Nearly along the bone there is no telling which side is meant.
    if (!(along.norm() > 0) || !(side.norm() > 0.2))
      fail(fmt::format("side: {} is along the bone of '{}'; choose a side across it", choice_.side_name(),
                       name(source.joint)));
    side.normalize();
    const auto skin_distance = [&](double share) {
      const Vec3d from = bone.head + share * along;
      const auto hit = surfaces_[source.mesh].first_hit({from.cast<float>(), side.cast<float>()});
      return hit ? static_cast<double>(hit->t) : 0.0;
    };
    const double middle = skin_distance((choice_.from + choice_.to) / 2);
    if (!(middle > 0))
      fail(fmt::format(
          "side: there is no skin {} of the bone of '{}'; choose another side, from and to, or give ends",
          choice_.side_name(), name(source.joint)));
    muscle.radius = choice_.radius > 0 ? choice_.radius : kUsualRadius * middle;
    const auto end = [&](double share) {
      double offset = std::max(middle - muscle.radius, 0.0);
      const double skin = skin_distance(share);
      if (skin > 0) offset = std::min(offset, kDeepestEnd * skin);
      return Vec3d(bone.head + share * along + offset * side);
    };
    muscle.origin = end(choice_.from);
    muscle.insertion = end(choice_.to);
  }

  void place_between(Muscle& muscle, const FieldSource& source) const {
    if (choice_.ends.size() != 2)
      fail(fmt::format("ends: a muscle has 2, not {}; leave them away to have it placed by side",
                       choice_.ends.size()));
    muscle.origin = choice_.ends[0].position();
    muscle.insertion = choice_.ends[1].position();
    muscle.radius = choice_.radius;
    if (muscle.radius > 0) return;
    const auto skin = surfaces_[source.mesh].nearest(((muscle.origin + muscle.insertion) / 2).cast<float>());
    if (!skin || !(skin->distance > 0)) fail("radius: the middle of its ends is on the skin; give a radius");
    muscle.radius = static_cast<double>(skin->distance);
  }

  const Skeleton& skeleton_;
  const RestJoints& joints_;
  MeshSurfaces& surfaces_;
  const MuscleChoice& choice_;
  std::string where_;
};

}  // namespace

std::vector<Muscle> make_muscles(const Character& character, const RestJoints& joints,
                                 std::span<const FieldSource> fields, std::span<const MuscleChoice> choices) {
  std::vector<Muscle> muscles;
  std::vector<std::size_t> count(fields.size(), 0);
  MeshSurfaces surfaces(character);
  const auto name = [&](int joint) -> const std::string& {
    return character.skeleton().joints[to_size(joint)].name;
  };
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const MuscleChoice& choice = choices[i];
    const std::string where = fmt::format("implicit: muscles[{}] ({})", i, choice.name);
    const MuscleMaker maker(character, joints, surfaces, choice, where);
    bool any = false;
    for (std::uint32_t f = 0; f < fields.size(); ++f) {
      if (!matches_pattern(name(fields[f].joint), choice.joint)) continue;
      any = true;
      if (++count[f] > PosedField::kMostMuscles)
        throw Error(fmt::format("{}: joint: '{}' has more than {} muscles; take some away", where,
                                name(fields[f].joint), PosedField::kMostMuscles));
      muscles.push_back(maker.make(f, fields[f]));
    }
    if (any) continue;
    std::vector<std::string> names;
    for (const FieldSource& field : fields) names.push_back(name(field.joint));
    throw Error(fmt::format("{}: joint: no bone with skin is named '{}'; there are {}", where, choice.joint,
                            names.empty() ? "none" : joined_names(names)));
  }
  return muscles;
}

}  // namespace sinew
