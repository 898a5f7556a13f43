#include "tests/support/shared_models.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

#include "tests/support/this_build.h"

namespace sinew::test {

namespace {

namespace fs = std::filesystem;

/// Writes what a built-in character holds, one thing after the other, or reads it back.
class Archive {
 public:
  Archive() : writing_(true) {}
  explicit Archive(std::vector<std::byte> bytes) : writing_(false), bytes_(std::move(bytes)) {}

  const std::vector<std::byte>& bytes() const { return bytes_; }
  bool is_read_up() const { return place_ == bytes_.size(); }

  template <class T>
  void visit(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    raw(&value, sizeof value);
  }
  void visit(std::string& text) { flat(text); }
  void visit(Vec3f& v) { raw(v.data(), 3 * sizeof(float)); }
  void visit(Vec3d& v) { raw(v.data(), 3 * sizeof(double)); }
  void visit(Quatf& q) { raw(q.coeffs().data(), 4 * sizeof(float)); }
  void visit(Mat4f& m) { raw(m.data(), 16 * sizeof(float)); }
  void visit(Triangle& t) { raw(t.data(), sizeof t); }
  template <class T>
  void visit(std::vector<T>& list) {
    resize(list);
    for (T& element : list) visit(element);
  }
  void visit(Joint& joint) {
    visit(joint.name);
    visit(joint.parent);
    visit(joint.rest.translation);
    visit(joint.rest.rotation);
    visit(joint.rest.scale);
    visit(joint.deforms);
  }
  void visit(AngleRange& range) {
    visit(range.least);
    visit(range.most);
  }
  void visit(RigJoint& joint) {
    visit(joint.name);
    visit(joint.parent);
    visit(joint.head);
    visit(joint.tail);
    visit(joint.flex);
    visit(joint.along);
    visit(joint.limits.flex);
    visit(joint.limits.spread);
    visit(joint.limits.twist);
  }
  void visit(Skin& skin) {
    visit(skin.name);
    visit(skin.joints);
    visit(skin.joint_from_mesh);
  }
  void visit(SceneMesh& mesh) {
    visit(mesh.name);
    visit(mesh.skin);
    visit(mesh.joint);
    visit(mesh.surface.positions);
    visit(mesh.surface.polygons.corners);
    visit(mesh.surface.polygons.starts);
    visit(mesh.surface.triangles);
    visit(mesh.surface.triangle_corners);
    visit(mesh.weights.starts);
    visit(mesh.weights.joints);
    visit(mesh.weights.values);
  }
  void visit(Channel& channel) {
    visit(channel.target);
    visit(channel.path);
    visit(channel.interpolation);
    visit(channel.width);
    visit(channel.times);
    visit(channel.values);
  }
  void visit(Clip& clip) {
    visit(clip.name);
    visit(clip.channels);
  }
  void visit(Scene& scene) {
    visit(scene.skeleton.joints);
    visit(scene.skins);
    visit(scene.meshes);
    visit(scene.clips);
    visit(scene.joint_nodes);
    visit(scene.mesh_nodes);
  }

 private:
  void raw(void* data, std::size_t size) {
    if (writing_) {
      const auto* from = static_cast<const std::byte*>(data);
      bytes_.insert(bytes_.end(), from, from + size);
    } else {
      if (bytes_.size() - place_ < size) throw Error("a shared model ends early");
      if (size > 0) std::memcpy(data, bytes_.data() + place_, size);
      place_ += size;
    }
  }
  template <class List>
  void resize(List& list) {
    std::uint64_t size = list.size();
    raw(&size, sizeof size);
    if (writing_) return;
    if (size > bytes_.size()) throw Error("a shared model ends early");
    list.resize(size);
  }
  template <class List>
  void flat(List& list) {
    resize(list);
    raw(list.data(), list.size() * sizeof(list[0]));
  }

  bool writing_;
  std::vector<std::byte> bytes_;
  std::size_t place_ = 0;
};

BuiltModel kept_or_made(std::string_view name, const ModelOptions& options, const fs::path& path) {
  BuiltModel model;
  std::vector<RigJoint> joints;
  if (fs::exists(path)) {
    Archive archive(read_file(path));
    archive.visit(model.scene);
    archive.visit(joints);
    if (!archive.is_read_up()) throw Error(path.string() + ": a shared model with something behind it");
    model.scene.source = "model:" + std::string(name);
    model.rig = Rig(std::move(joints));
    return model;
  }
  model = make_model(name, options);
  joints = model.rig.joints();
  Archive archive;
  archive.visit(model.scene);
  archive.visit(joints);
  fs::create_directories(path.parent_path());
  AtomicFile file(path);
  file.write(archive.bytes());
  file.commit();
  return model;
}

}  // namespace

const BuiltModel& shared_model(std::string_view name, const ModelOptions& options) {
  const Proportions& p = options.proportions;
  const std::string what =
      fmt::format("{}_{}_{}_{}_{}_{}", name, options.vertices, p.arm, p.leg, p.head, p.girth);
  static std::map<std::string, std::unique_ptr<const BuiltModel>> models;
  std::unique_ptr<const BuiltModel>& model = models[what];
  if (!model)
    model = std::make_unique<const BuiltModel>(
        kept_or_made(name, options, fs::path(models_directory()) / models_key() / (what + ".bin")));
  return *model;
}

}  // namespace sinew::test
