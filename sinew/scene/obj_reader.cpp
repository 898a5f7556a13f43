#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/scene/obj.h>
#include <sinew/scene/text_scanner.h>

namespace sinew {

namespace {

/// A corner as the file names it; kNoIndex where it names nothing.
struct Corner {
  std::uint32_t vertex = kNoIndex;
  std::uint32_t texcoord = kNoIndex;
  std::uint32_t normal = kNoIndex;
};

class ObjReader {
 public:
  ObjReader(std::string_view text, const std::string& name) : scan_(text, name, '#', true), name_(name) {}

  Scene read() {
    for (; scan_.find_word(); scan_.next_line()) read_line(scan_.word());
    if (polygons_.size() == 0) throw Error(fmt::format("{}: no faces", name_));
    fill_normals();
    fill_texcoords();
    report();

    mesh_.surface = make_mesh(std::move(positions_), std::move(polygons_));
    if (mesh_.name.empty()) mesh_.name = std::filesystem::path(name_).stem().string();
    Scene scene;
    scene.source = name_;
    scene.meshes.push_back(std::move(mesh_));
    scene.warnings = std::move(warnings_);
    check_scene(scene);
    return scene;
  }

 private:
  void read_line(std::string_view keyword) {
    if (keyword == "v") {
      positions_.push_back(read_vector("coordinate"));
      // A weight (rational curves) or a colour may follow.
      while (!scan_.line_is_done()) scan_.number("number");
    } else if (keyword == "vt") {
      const double u = scan_.double_number("u");
      const double v = scan_.line_is_done() ? 0.0 : scan_.double_number("v");
      if (!scan_.line_is_done()) scan_.number("w");
      expect_line_end();
      const Vec2f texcoord(static_cast<float>(u), static_cast<float>(1.0 - v));
      if (!texcoord.allFinite()) scan_.fail("a UV is too large");
      mesh_.texcoords.values.push_back(texcoord);
    } else if (keyword == "vn") {
      mesh_.normals.values.push_back(unit_normal(read_vector("coordinate")));
      expect_line_end();
    } else if (keyword == "f" || keyword == "fo") {
      read_face();
    } else if (keyword == "o" || keyword == "g" || keyword == "usemtl" || keyword == "s" ||
               keyword == "mtllib") {
      const std::string rest = scan_.rest_of_line();
      if (keyword == "o" && mesh_.name.empty()) mesh_.name = rest;
      std::string line(keyword);
      if (!rest.empty()) line += " " + rest;
      mesh_.obj_directives.emplace_back(static_cast<std::uint32_t>(polygons_.size()), std::move(line));
    } else if (keyword == "p" || keyword == "l") {
      ++points_and_lines_;
    } else {
      if (unknown_lines_++ == 0) first_unknown_ = fmt::format("line {}, '{}'", scan_.line(), quoted(keyword));
    }
  }

  Vec3f read_vector(const char* what) {
    const float x = scan_.number(what);
    const float y = scan_.number(what);
    const float z = scan_.number(what);
    return {x, y, z};
  }

  void expect_line_end() {
    if (!scan_.line_is_done()) scan_.fail(fmt::format("'{}' is too much on this line", quoted(scan_.word())));
  }

  /// Unit length; zero stays zero, and what is unit already keeps its bits.
  static Vec3f unit_normal(const Vec3f& normal) {
    const double length = normal.cast<double>().norm();
    if (length == 0 || std::abs(length - 1) < 1e-6) return normal;
    return (normal.cast<double>() / length).cast<float>();
  }

  /// One part of a corner: 1 is the first element so far, -1 the last one so far.
  std::uint32_t read_index(const char*& place, const char* end, std::size_t count, const char* what,
                           std::string_view word) {
    std::int64_t index = 0;
    const std::from_chars_result result = std::from_chars(place, end, index);
    if (result.ec == std::errc::invalid_argument)
      scan_.fail(fmt::format("'{}' is not a corner (vertex/uv/normal)", quoted(word)));
    const std::int64_t size = static_cast<std::int64_t>(count);
    if (result.ec == std::errc() && index == 0)
      scan_.fail(fmt::format("'{}': numbers start at 1", quoted(word)));
    if (result.ec != std::errc() || index > size || index < -size)
      scan_.fail(
          fmt::format("{} {} does not exist ({} so far)", what, std::string_view(place, result.ptr), size));
    place = result.ptr;
    return static_cast<std::uint32_t>(index > 0 ? index - 1 : size + index);
  }

  Corner read_corner(std::string_view word) {
    const char* place = word.data();
    const char* const end = place + word.size();
    Corner corner;
    corner.vertex = read_index(place, end, positions_.size(), "vertex", word);
    if (place != end && *place == '/') {
      ++place;
      if (place != end && *place != '/')
        corner.texcoord = read_index(place, end, mesh_.texcoords.values.size(), "UV", word);
      if (place != end && *place == '/') {
        ++place;
        // Some exporters write "7/7/" where there is no normal.
        if (place != end) corner.normal = read_index(place, end, mesh_.normals.values.size(), "normal", word);
      }
    }
    if (place != end) scan_.fail(fmt::format("'{}' is not a corner (vertex/uv/normal)", quoted(word)));
    return corner;
  }

  void read_face() {
    const std::size_t first = polygons_.corners.size();
    while (!scan_.line_is_done()) {
      if (polygons_.corners.size() + 1 >= kNoIndex) scan_.fail("more polygon corners than can be counted");
      const Corner corner = read_corner(scan_.word());
      polygons_.corners.push_back(corner.vertex);
      mesh_.texcoords.corners.push_back(corner.texcoord);
      mesh_.normals.corners.push_back(corner.normal);
    }
    const std::size_t end = polygons_.corners.size();
    if (end - first < 3) {
      ++small_faces_;
      polygons_.corners.resize(first);
      mesh_.texcoords.corners.resize(first);
      mesh_.normals.corners.resize(first);
      return;
    }
    polygons_.starts.push_back(static_cast<std::uint32_t>(end));
  }

  /// Corners without a normal get the smooth one of the polygons that have none, so that the rest of the file
  /// keeps its own.
  void fill_normals() {
    CornerValues<Vec3f>& normals = mesh_.normals;
    std::size_t missing = 0;
    for (std::uint32_t& normal : normals.corners) {
      if (normal != kNoIndex && normals.values[normal] == Vec3f::Zero()) normal = kNoIndex;
      if (normal == kNoIndex) ++missing;
    }
    if (missing == normals.corners.size()) {
      normals = {};
      return;
    }
    if (missing == 0) return;
    warnings_.push_back(fmt::format("{}: {} of {} polygon corners have no normal; theirs were computed",
                                    name_, missing, normals.corners.size()));
    std::vector<Vec3d> sums(positions_.size(), Vec3d::Zero());
    for (std::size_t p = 0; p < polygons_.size(); ++p) {
      const std::span<const std::uint32_t> polygon = polygons_[p];
      Vec3d area = Vec3d::Zero();
      for (std::size_t c = 0; c < polygon.size(); ++c) {
        const Vec3d here = positions_[polygon[c]].cast<double>();
        area += here.cross(positions_[polygon[(c + 1) % polygon.size()]].cast<double>());
      }
      for (std::size_t c = 0; c < polygon.size(); ++c)
        if (normals.corners[polygons_.starts[p] + c] == kNoIndex) sums[polygon[c]] += area;
    }
    std::vector<std::uint32_t> computed(positions_.size(), kNoIndex);
    for (std::size_t c = 0; c < normals.corners.size(); ++c) {
      if (normals.corners[c] != kNoIndex) continue;
      const std::uint32_t vertex = polygons_.corners[c];
      if (computed[vertex] == kNoIndex) {
        computed[vertex] = static_cast<std::uint32_t>(normals.values.size());
        const double length = sums[vertex].norm();
        const bool usable = length > 0 && std::isfinite(length);
        normals.values.push_back(usable ? Vec3f((sums[vertex] / length).cast<float>()) : Vec3f::UnitY());
      }
      normals.corners[c] = computed[vertex];
    }
  }

  void fill_texcoords() {
    CornerValues<Vec2f>& texcoords = mesh_.texcoords;
    std::size_t missing = 0;
    for (std::uint32_t& texcoord : texcoords.corners) {
      if (texcoord != kNoIndex) continue;
      texcoord = static_cast<std::uint32_t>(texcoords.values.size());
      ++missing;
    }
    if (missing == texcoords.corners.size()) {
      texcoords = {};
    } else if (missing > 0) {
      texcoords.values.push_back(Vec2f(0, 1));
      warnings_.push_back(fmt::format("{}: {} of {} polygon corners have no UV; theirs is 0 0", name_,
                                      missing, texcoords.corners.size()));
    }
  }

  void report() {
    if (small_faces_ > 0)
      warnings_.push_back(
          fmt::format("{}: {} faces with fewer than three corners skipped", name_, small_faces_));
    if (points_and_lines_ > 0)
      warnings_.push_back(fmt::format("{}: {} point and line elements skipped", name_, points_and_lines_));
    if (unknown_lines_ > 0)
      warnings_.push_back(fmt::format("{}: {} lines with unknown keywords skipped, the first one {}", name_,
                                      unknown_lines_, first_unknown_));
  }

  TextScanner scan_;
  std::string name_;
  std::vector<Vec3f> positions_;
  Polygons polygons_;
  SceneMesh mesh_;
  std::vector<std::string> warnings_;
  std::size_t small_faces_ = 0;
  std::size_t points_and_lines_ = 0;
  std::size_t unknown_lines_ = 0;
  std::string first_unknown_;
};

}  // namespace

Scene read_obj(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return parse_obj(as_text(bytes), path.string());
}

Scene parse_obj(std::string_view text, const std::string& name) {
  return ObjReader(text, name).read();
}

}  // namespace sinew
