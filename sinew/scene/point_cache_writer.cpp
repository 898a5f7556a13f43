#include <bit>
#include <cassert>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/scene/frame_writer.h>

namespace sinew {

namespace {

constexpr std::size_t kFlushSize = 1 << 16;
constexpr std::size_t kMaxCount = std::numeric_limits<std::int32_t>::max();

/// 32-bit words in the byte order of the format: PC2 is little-endian, MDD big-endian.
class WordBuffer {
 public:
  explicit WordBuffer(bool big_endian) : big_endian_(big_endian) {}

  void add(std::uint32_t word) {
    for (int i = 0; i < 4; ++i)
      bytes_.push_back(static_cast<std::byte>(word >> (big_endian_ ? 24 - 8 * i : 8 * i)));
  }
  void add(float value) { add(std::bit_cast<std::uint32_t>(value)); }
  void add_text(std::string_view text) {
    for (char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  void clear() { bytes_.clear(); }
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  bool big_endian_;
  std::vector<std::byte> bytes_;
};

/// A mesh's name as a part of a file name.
std::string file_name_part(const std::string& name, std::size_t mesh) {
  if (name.empty()) return fmt::format("mesh{}", mesh);
  std::string part = name;
  for (char& c : part)
    if (c == '/' || c == '\\' || std::iscntrl(static_cast<unsigned char>(c))) c = '_';
  for (std::size_t i = 0; i < part.size() && part[i] == '.'; ++i) part[i] = '_';
  return part;
}

std::vector<std::filesystem::path> cache_paths(const Scene& scene, const std::filesystem::path& path) {
  if (scene.meshes.size() == 1) return {path};
  std::vector<std::filesystem::path> paths;
  std::set<std::string> taken;
  for (std::size_t m = 0; m < scene.meshes.size(); ++m) {
    const std::string part = file_name_part(scene.meshes[m].name, m);
    std::string unique = part;
    for (int n = 2; !taken.insert(unique).second; ++n) unique = fmt::format("{}_{}", part, n);
    paths.push_back(path.parent_path() /
                    fmt::format("{}_{}{}", path.stem().string(), unique, path.extension().string()));
  }
  return paths;
}

bool is_mdd(const std::filesystem::path& path) {
  return lower_case_extension(path) == ".mdd";
}

class PointCacheWriter final : public FrameWriter {
 public:
  PointCacheWriter(const Scene& scene, const std::filesystem::path& path, const FrameWriterOptions& options)
      : options_(options), paths_(cache_paths(scene, path)), mdd_(is_mdd(path)), words_(mdd_) {
    assert(options.frame_count >= 1);
    for (const SceneMesh& mesh : scene.meshes) {
      if (mesh.surface.positions.size() > kMaxCount)
        throw Error(fmt::format("{}: mesh '{}' has {} vertices; the format holds at most {}", path.string(),
                                mesh.name, mesh.surface.positions.size(), kMaxCount));
      vertex_counts_.push_back(mesh.surface.positions.size());
    }
    for (std::size_t m = 0; m < paths_.size(); ++m) {
      files_.push_back(std::make_unique<AtomicFile>(paths_[m]));
      write_header(*files_[m], static_cast<std::uint32_t>(vertex_counts_[m]));
    }
  }

  void write_frame(std::span<const MeshFrame> meshes) override {
    if (written_ == options_.frame_count)
      throw Error(
          fmt::format("{}: frame {} of {} frames", paths_[0].string(), written_ + 1, options_.frame_count));
    if (meshes.size() != files_.size())
      throw Error(fmt::format("{}: frame {}: {} meshes, the scene has {}", paths_[0].string(), written_,
                              meshes.size(), files_.size()));
    for (std::size_t m = 0; m < meshes.size(); ++m) {
      if (meshes[m].positions.size() != vertex_counts_[m])
        throw Error(fmt::format("{}: frame {}: {} positions for {} vertices", paths_[m].string(), written_,
                                meshes[m].positions.size(), vertex_counts_[m]));
      write_positions(m, meshes[m]);
    }
    ++written_;
  }

  void finish() override {
    if (written_ != options_.frame_count)
      throw Error(
          fmt::format("{}: {} of {} frames came", paths_[0].string(), written_, options_.frame_count));
    for (const std::unique_ptr<AtomicFile>& file : files_) file->commit();
  }

  bool wants_normals() const override { return false; }
  std::vector<std::filesystem::path> outputs() const override { return paths_; }

 private:
  void write_header(AtomicFile& file, std::uint32_t points) {
    const std::uint32_t frames = static_cast<std::uint32_t>(options_.frame_count);
    words_.clear();
    if (mdd_) {
      words_.add(frames);
      words_.add(points);
      for (int k = 0; k < options_.frame_count; ++k) {
        words_.add(
            static_cast<float>((static_cast<double>(options_.first_frame) + k) / options_.frames_per_second));
        if (words_.bytes().size() < kFlushSize) continue;
        file.write(words_.bytes());
        words_.clear();
      }
    } else {
      words_.add_text(std::string_view("POINTCACHE2\0", 12));
      words_.add(std::uint32_t{1});  // version
      words_.add(points);
      words_.add(static_cast<float>(options_.first_frame));
      words_.add(1.0f);  // frames per sample
      words_.add(frames);
    }
    file.write(words_.bytes());
  }

  void write_positions(std::size_t m, const MeshFrame& frame) {
    Affine3d mesh_from_scene = Affine3d::Identity();
    const bool moved = frame.scene_from_mesh.matrix() != Mat4d::Identity();
    if (moved) {
      const Affine3d inverse(frame.scene_from_mesh.matrix().inverse());
      // A node scaled to nothing has no mesh space to go back to: its points are written where they stand.
      if (inverse.matrix().allFinite()) mesh_from_scene = inverse;
    }
    words_.clear();
    for (std::size_t v = 0; v < frame.positions.size(); ++v) {
      const Vec3f p = moved ? Vec3f((mesh_from_scene * frame.positions[v].cast<double>()).cast<float>())
                            : frame.positions[v];
      if (!p.allFinite())
        throw Error(fmt::format("{}: frame {}: the position of vertex {} is not finite", paths_[m].string(),
                                written_, v));
      words_.add(p.x());
      words_.add(options_.up_axis == 'z' ? -p.z() : p.y());
      words_.add(options_.up_axis == 'z' ? p.y() : p.z());
    }
    files_[m]->write(words_.bytes());
  }

  FrameWriterOptions options_;
  std::vector<std::filesystem::path> paths_;
  bool mdd_;
  WordBuffer words_;
  std::vector<std::size_t> vertex_counts_;
  std::vector<std::unique_ptr<AtomicFile>> files_;
  int written_ = 0;
};

}  // namespace

std::unique_ptr<FrameWriter> make_point_cache_writer(const Scene& scene, const std::filesystem::path& path,
                                                     const FrameWriterOptions& options) {
  return std::make_unique<PointCacheWriter>(scene, path, options);
}

}  // namespace sinew
