#include "apps/cli/binding.h"
#include "apps/cli/json.h"

#include <cctype>
#include <charconv>
#include <cstdio>
#include <set>

#include <fmt/format.h>

#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/text.h>
#include <sinew/picture/camera.h>
#include <sinew/picture/character_picture.h>
#include <sinew/picture/contact_sheet.h>
#include <sinew/picture/png.h>

#include "apps/cli/progress_bar.h"

namespace sinew::cli {

namespace {

constexpr int kPictureSide = 480;  // pixels of one view
constexpr float kTextSize = 14;

/// A file name made of a joint's: other characters than letters, digits, '.', '-' and '_' become '_'. Names
/// that then coincide, also where case does not matter, get a number.
std::string file_name(const std::string& joint, std::set<std::string>& taken) {
  std::string stem = joint.substr(0, 100);
  for (char& c : stem)
    if (!(std::isalnum(static_cast<unsigned char>(c)) && static_cast<unsigned char>(c) < 0x80) && c != '.' &&
        c != '-' && c != '_')
      c = '_';
  if (stem.empty() || stem[0] == '.' || stem[0] == '-') stem = "_" + stem;
  std::string name = stem;
  for (int number = 2; !taken.insert(lower_case(name)).second; ++number)
    name = fmt::format("{}-{}", stem, number);
  return name + ".png";
}

class WeightPictures {
 public:
  explicit WeightPictures(const Scene& scene) {
    Recipe recipe;
    recipe.normals = false;  // pictures make their own
    character_ = Character::make(scene, recipe);
    performer_ = std::make_unique<Performer>(character_);
    performer_->perform(character_->rest_pose(), 0);
    clay_.width = clay_.height = kPictureSide;
    clay_.quality = ClayQuality::draft;
    View view = parse_view("three-quarter");
    for (const char* name : {"from the front", "from behind"}) {
      CameraFit fit(view, 1.0);
      fit.add(performer_->welded_positions());
      cameras_.push_back({name, fit.camera()});
      view.yaw += 180;
    }
  }

  Image draw(const Coloring& coloring, const std::string& caption, bool bones) const {
    const CharacterPicture picture(character_, coloring);
    std::vector<CaptionedImage> views;
    for (const auto& [name, camera] : cameras_)
      views.push_back(
          {picture.render(*performer_, camera, clay_, bones ? &character_->rest_pose() : nullptr), name});
    return with_caption(side_by_side(views, kTextSize), caption, kTextSize);
  }

 private:
  std::shared_ptr<const Character> character_;
  std::unique_ptr<Performer> performer_;
  ClayOptions clay_;
  std::vector<std::pair<std::string, Camera>> cameras_;
};

}  // namespace

void check_glb_output(const std::filesystem::path& output, const std::vector<std::string>& inputs) {
  if (lower_case_extension(output) != ".glb")
    throw Error(fmt::format("{}: choose a name that ends in .glb", output.string()));
  for (const std::string& input : inputs) {
    std::error_code ignored;
    if (!input.empty() && std::filesystem::equivalent(output, input, ignored))
      throw Error(fmt::format("{}: is an input; choose another name for the output", output.string()));
  }
  AtomicFile probe(output);  // a wrong path shows now, not after all the work; removed again
}

std::size_t parse_influences(const std::string& text) {
  if (text == "all") return 0;
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > 64)
    throw Error(fmt::format("--influences {}: expected a number from 1 to 64, or all", text));
  return number;
}

bool same_input(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return a == b || std::filesystem::equivalent(a, b, ignored);
}

void refuse_unbound(const std::vector<BoundMesh>& meshes, const std::string& input) {
  std::string where;
  for (const BoundMesh& mesh : meshes)
    if (mesh.unbound > 0)
      where +=
          fmt::format("{}mesh '{}': {} of {} vertices, the first is vertex {}", where.empty() ? "" : "; ",
                      mesh.name, mesh.unbound, mesh.vertices, mesh.first_unbound);
  if (!where.empty()) throw Error(fmt::format("{}: without weights: {}; nothing is written", input, where));
}

Json meshes_json(const std::vector<BoundMesh>& meshes) {
  Json json = Json::array();
  for (const BoundMesh& mesh : meshes)
    json.push_back({{"name", mesh.name}, {"vertices", mesh.vertices}, {"unbound", mesh.unbound}});
  return json;
}

Json joints_json(const std::vector<BoundJoint>& joints) {
  Json json = Json::array();
  for (const BoundJoint& joint : joints)
    json.push_back({{"name", joint.name},
                    {"vertices", joint.vertices},
                    {"dominated", joint.dominated},
                    {"weight", joint.weight},
                    {"locked", joint.locked}});
  return json;
}

Json pictures_json(const std::vector<std::filesystem::path>& pictures) {
  Json json = Json::array();
  for (const std::filesystem::path& picture : pictures) json.push_back(picture.string());
  return json;
}

void tell_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) fmt::print(stderr, "sinew: warning: {}\n", warning);
}

void make_picture_directory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    throw Error(fmt::format("{}: cannot make the directory: {}", directory.string(), error.message()));
}

std::vector<std::filesystem::path> draw_weights(const Scene& scene, const std::vector<BoundJoint>& joints,
                                                const std::filesystem::path& directory) {
  make_picture_directory(directory);
  const Progress progress = progress_bar("pictures");
  const WeightPictures pictures(scene);
  std::set<std::string> taken;
  std::vector<std::filesystem::path> files;
  const auto write = [&](const std::string& name, const Image& image) {
    files.push_back(directory / file_name(name, taken));
    write_png(image, files.back());
    report_progress(progress, static_cast<double>(files.size()) / static_cast<double>(joints.size() + 1));
  };
  Coloring coloring;
  coloring.by = Coloring::By::partition;
  write("partition", pictures.draw(coloring, "each vertex in the colour of its heaviest joint", true));
  coloring.by = Coloring::By::joint;
  for (const BoundJoint& joint : joints) {
    if (joint.vertices == 0) continue;
    coloring.joint = joint.joint;
    write(joint.name, pictures.draw(coloring,
                                    fmt::format("{}: moves {} vertices, {} of them the most", joint.name,
                                                joint.vertices, joint.dominated),
                                    false));
  }
  report_progress(progress, 1);
  return files;
}

}  // namespace sinew::cli
