#include <cassert>
#include <charconv>
#include <cmath>
#include <memory>

#include <fmt/compile.h>
#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/frame_writer.h>
#include <sinew/scene/normal_slots.h>
#include <sinew/scene/obj.h>

namespace sinew {

namespace {

/// A name as it may stand on a line.
std::string printable_name(std::string name) {
  for (char& c : name)
    if (static_cast<unsigned char>(c) < ' ') c = '_';
  return name;
}

/// OBJ's v runs up, the scene's runs down. Prints the shortest of a few lengths that the reader turns back
/// into the same float, so that "0.1" stays "0.1".
void append_flipped(fmt::memory_buffer& out, float down) {
  const double up = 1.0 - static_cast<double>(down);
  for (const int digits : {4, 6, 9, 12, 17}) {
    const std::size_t start = out.size();
    fmt::format_to(std::back_inserter(out), "{:.{}g}", up, digits);
    double read = 0;
    std::from_chars(out.data() + start, out.data() + out.size(), read);
    if (digits == 17 || static_cast<float>(1.0 - read) == down) return;
    out.resize(start);
  }
}

/// The parts of one mesh's text that are the same in every frame.
struct MeshText {
  std::string name;
  std::size_t vertices = 0;
  std::size_t normals = 0;
  std::string header;
  std::string texcoords;
  std::string faces;
};

/// Numbers of a file's elements count from 1 over all its meshes.
struct FirstNumbers {
  std::size_t vertex = 1, texcoord = 1, normal = 1;
};

std::string face_text(const SceneMesh& mesh, const NormalSlots* slots, const FirstNumbers& first) {
  fmt::memory_buffer out;
  auto place = std::back_inserter(out);
  auto directive = mesh.obj_directives.begin();
  const auto put_directives = [&](std::size_t polygon) {
    for (; directive != mesh.obj_directives.end() && directive->first <= polygon; ++directive)
      fmt::format_to(place, FMT_COMPILE("{}\n"), printable_name(directive->second));
  };
  const Polygons& polygons = mesh.surface.polygons;
  for (std::size_t p = 0; p < polygons.size(); ++p) {
    put_directives(p);
    out.push_back('f');
    for (std::size_t c = polygons.starts[p]; c < polygons.starts[p + 1]; ++c) {
      fmt::format_to(place, FMT_COMPILE(" {}"), first.vertex + polygons.corners[c]);
      if (!mesh.texcoords.empty())
        fmt::format_to(place, FMT_COMPILE("/{}"), first.texcoord + mesh.texcoords.corners[c]);
      if (slots != nullptr)
        fmt::format_to(place, FMT_COMPILE("{}{}"), mesh.texcoords.empty() ? "//" : "/",
                       first.normal + slots->corner_slot[c]);
    }
    out.push_back('\n');
  }
  put_directives(polygons.size());
  return fmt::to_string(out);
}

/// Makes the text of one file after another; what frames share is formatted once.
class ObjText {
 public:
  /// `with_normals`: per mesh, whether its frames bring normals.
  ObjText(const Scene& scene, const std::vector<bool>& with_normals) {
    FirstNumbers first;
    for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
      const SceneMesh& mesh = scene.meshes[m];
      const NormalSlots slots = normal_slots(mesh);
      MeshText text;
      text.name = mesh.name;
      text.vertices = mesh.surface.positions.size();
      text.normals = with_normals[m] ? slots.slot_vertex.size() : 0;
      if (mesh.obj_directives.empty())
        text.header =
            mesh.name.empty() ? std::string("o mesh\n") : fmt::format("o {}\n", printable_name(mesh.name));
      if (!mesh.texcoords.empty()) {
        fmt::memory_buffer out;
        for (const Vec2f& texcoord : mesh.texcoords.values) {
          fmt::format_to(std::back_inserter(out), FMT_COMPILE("vt {} "), texcoord.x());
          append_flipped(out, texcoord.y());
          out.push_back('\n');
        }
        text.texcoords = fmt::to_string(out);
      }
      text.faces = face_text(mesh, with_normals[m] ? &slots : nullptr, first);
      first.vertex += text.vertices;
      first.normal += text.normals;
      if (!mesh.texcoords.empty()) first.texcoord += mesh.texcoords.values.size();
      meshes_.push_back(std::move(text));
    }
  }

  /// One file's content. `out` is scratch memory that keeps its size from frame to frame.
  void format(std::span<const MeshFrame> frame, const std::filesystem::path& path,
              fmt::memory_buffer& out) const {
    assert(frame.size() == meshes_.size());
    out.clear();
    auto place = std::back_inserter(out);
    for (std::size_t m = 0; m < meshes_.size(); ++m) {
      const MeshText& text = meshes_[m];
      assert(frame[m].positions.size() == text.vertices);
      out.append(text.header);
      for (std::size_t v = 0; v < text.vertices; ++v) {
        const Vec3f& position = frame[m].positions[v];
        if (!position.allFinite())
          throw Error(fmt::format("{}: mesh '{}': vertex {} is not finite", path.string(), text.name, v));
        fmt::format_to(place, FMT_COMPILE("v {} {} {}\n"), position.x(), position.y(), position.z());
      }
      out.append(text.texcoords);
      if (text.normals > 0) {
        assert(frame[m].normals.size() == text.normals);
        for (const Vec3f& normal : frame[m].normals) {
          const Vec3f safe = normal.allFinite() ? normal : Vec3f::Zero();
          fmt::format_to(place, FMT_COMPILE("vn {} {} {}\n"), safe.x(), safe.y(), safe.z());
        }
      }
      out.append(text.faces);
    }
  }

 private:
  std::vector<MeshText> meshes_;
};

void check_has_meshes(const Scene& scene, const std::filesystem::path& path) {
  if (scene.meshes.empty()) throw Error(fmt::format("{}: the scene has no mesh to write", path.string()));
}

class ObjFrameWriter : public FrameWriter {
 public:
  ObjFrameWriter(const Scene& scene, const std::filesystem::path& path, const FrameWriterOptions& options)
      : text_(scene, std::vector<bool>(scene.meshes.size(), true)),
        text_without_normals_(scene, std::vector<bool>(scene.meshes.size(), false)) {
    check_has_meshes(scene, path);
    if (options.frame_count < 1) throw Error(fmt::format("{}: no frames to write", path.string()));
    for (int k = 0; k < options.frame_count; ++k) {
      std::filesystem::path file = path;
      if (options.frame_count > 1)
        file.replace_filename(fmt::format("{}_{:04}{}", path.stem().string(),
                                          static_cast<std::int64_t>(options.first_frame) + k,
                                          path.extension().string()));
      outputs_.push_back(std::move(file));
    }
  }

  void write_frame(std::span<const MeshFrame> meshes) override {
    assert(files_.size() < outputs_.size());
    const std::filesystem::path& path = outputs_[files_.size()];
    bool with_normals = true;
    for (const MeshFrame& mesh : meshes)
      if (mesh.normals.empty() && !mesh.positions.empty()) with_normals = false;
    (with_normals ? text_ : text_without_normals_).format(meshes, path, scratch_);
    auto file = std::make_unique<AtomicFile>(path);
    file->write(std::string_view(scratch_.data(), scratch_.size()));
    // Thousands of frames may wait for finish(); the system allows far fewer open files.
    file->close();
    files_.push_back(std::move(file));
  }

  void finish() override {
    if (files_.size() != outputs_.size())
      throw Error(fmt::format("{}: {} of {} frames were written", outputs_.front().string(), files_.size(),
                              outputs_.size()));
    for (const std::unique_ptr<AtomicFile>& file : files_) file->commit();
  }

  std::vector<std::filesystem::path> outputs() const override { return outputs_; }

 private:
  ObjText text_;
  ObjText text_without_normals_;
  std::vector<std::filesystem::path> outputs_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  fmt::memory_buffer scratch_;
};

}  // namespace

void write_obj(const Scene& scene, const std::filesystem::path& path) {
  check_has_meshes(scene, path);
  std::vector<Affine3d> scene_from_joint(scene.skeleton.size());
  forward_kinematics(scene.skeleton, rest_pose(scene.skeleton).joints, scene_from_joint);
  std::vector<std::vector<Vec3f>> positions, normals;
  std::vector<bool> with_normals;
  for (const SceneMesh& mesh : scene.meshes) {
    std::vector<Vec3f>& points = positions.emplace_back(mesh.surface.positions);
    std::vector<Vec3f>& directions = normals.emplace_back(normal_slots(mesh).file_normal);
    with_normals.push_back(!mesh.normals.empty());
    if (mesh.skin >= 0 || mesh.joint < 0) continue;
    const Affine3d& scene_from_mesh = scene_from_joint[to_size(mesh.joint)];
    for (Vec3f& point : points) point = (scene_from_mesh * point.cast<double>()).cast<float>();
    // Cofactors instead of the inverse transpose: they exist for a flat scale too. Their sign follows the
    // determinant, which a mirrored mesh's normals must not.
    const Mat3d linear = scene_from_mesh.linear();
    Mat3d cofactors;
    for (int c = 0; c < 3; ++c) cofactors.col(c) = linear.col((c + 1) % 3).cross(linear.col((c + 2) % 3));
    if (linear.determinant() < 0) cofactors = -cofactors;
    for (Vec3f& direction : directions)
      direction = (cofactors * direction.cast<double>()).stableNormalized().cast<float>();
  }
  std::vector<MeshFrame> frame(scene.meshes.size());
  for (std::size_t m = 0; m < frame.size(); ++m) {
    frame[m].positions = positions[m];
    if (with_normals[m]) frame[m].normals = normals[m];
  }
  fmt::memory_buffer text;
  ObjText(scene, with_normals).format(frame, path, text);
  write_file(path, std::string_view(text.data(), text.size()));
}

std::unique_ptr<FrameWriter> make_obj_frame_writer(const Scene& scene, const std::filesystem::path& path,
                                                   const FrameWriterOptions& options) {
  return std::make_unique<ObjFrameWriter>(scene, path, options);
}

}  // namespace sinew
