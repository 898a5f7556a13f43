#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/layers/field_layer.h>
#include <sinew/layers/volume_layer.h>
#include <sinew/picture/camera.h>
#include <sinew/picture/character_picture.h>
#include <sinew/picture/clay.h>
#include <sinew/picture/contact_sheet.h>
#include <sinew/picture/png.h>
#include <sinew/picture/webp.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/fields_view.h"
#include "apps/cli/operator_tables.h"
#include "apps/cli/performance.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/render_options.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct RenderCommand {
  PerformanceOptions performance;
  std::filesystem::path output;  ///< .png or .webp
  std::string compare;  ///< methods and recipe files, separated by commas; empty: the performance's own
  std::string size;     ///< WxH of one view, pixels
  std::string camera;   ///< see parse_view; empty: front, or where a field's plane is seen from
  std::string focus;    ///< joint of a close-up
  double zoom = 1;
  bool follow = false;         ///< the camera goes along with the character
  std::string color = "clay";  ///< clay, weights, partition, stretch, contact or bone:NAME
  bool wireframe = false;
  bool skeleton = false;
  bool no_floor = false;
  std::string cut;          ///< AXIS=OFFSET, AXIS<OFFSET or AXIS>OFFSET
  std::string field_slice;  ///< AXIS=OFFSET: the plane to paint the fields of implicit skinning in
  bool fields = false;      ///< shows the bones' fields, the skin as glass round them
  std::string quality;      ///< draft or final; empty: final for pictures, draft for animations
  int sheet = 0;            ///< columns; 0: one row of methods, or chosen to fit
  int every = 0;            ///< 0: all frames of an animation, a choice of them on a sheet
  std::string caption;
};

constexpr int kFramesOfASheet = 12;  // where the user does not say which
constexpr int kMostTiles = 400;

/// How freely skin moves to restore the volume of a joint, or of all (-1); clay for characters without such a
/// layer.
Coloring freedom_of(const Character& character, int joint) {
  Coloring coloring;
  for (const auto& layer : character.layers())
    if (const auto* volume = dynamic_cast<const VolumeLayer*>(layer.get())) {
      coloring.by = Coloring::By::values;
      coloring.values = volume->freedom(joint);
      coloring.scale.title = "freedom";
      coloring.scale.low_label = "held", coloring.scale.high_label = "free";
    }
  return coloring;
}

/// What was asked for that only implicit skinning has, as the user wrote it; empty: nothing.
std::string asked_of_implicit_skinning(const RenderCommand& command) {
  if (!command.field_slice.empty()) return "--field-slice";
  if (command.fields) return "--fields";
  return command.color == "contact" ? "--color contact" : "";
}

/// Throws Error where there is nothing to show. Fields must be everywhere; where contact is coloured, methods
/// without it may stand beside for comparison.
void require_implicit_layers(const RenderCommand& command, std::span<const NamedRecipe> recipes) {
  const std::string asked = asked_of_implicit_skinning(command);
  if (asked.empty()) return;
  const auto lacks = [](const NamedRecipe& named) { return !has_implicit_layer(named.recipe); };
  const auto lacking = std::find_if(recipes.begin(), recipes.end(), lacks);
  if (command.compare.empty()) {
    if (lacking != recipes.end())
      throw Error(fmt::format("{}: '{}' has no implicit layer; choose --skin implicit or a --recipe with one",
                              asked, lacking->name));
    return;
  }
  const bool contact = command.color == "contact";
  if (contact ? std::all_of(recipes.begin(), recipes.end(), lacks) : lacking != recipes.end())
    throw Error(fmt::format("{}: {} of --compare has {}implicit layer; name {}implicit and recipes with one",
                            asked, contact ? "none" : fmt::format("'{}'", lacking->name),
                            contact ? "an " : "no ", contact ? "" : "only "));
}

static_assert(static_cast<int>(VertexMark::plain) == static_cast<int>(SkinMark::still) &&
              static_cast<int>(VertexMark::moved) == static_cast<int>(SkinMark::moved) &&
              static_cast<int>(VertexMark::contact) == static_cast<int>(SkinMark::contact));

/// One way to deform the character, and what draws the result.
struct DrawnMethod {
  std::string name;
  std::shared_ptr<const Character> character;
  std::unique_ptr<CharacterPicture> picture;
  std::unique_ptr<FieldsView> fields;  // where they are to be seen
  std::unique_ptr<Performer> performer;
  Pose pose;
  int performed = -1;  // the last frame; -1: none
};

/// Frames to show, in order.
std::vector<int> choose_frames(const RenderCommand& command, const Performance& performance, bool animation) {
  const int first = performance.first_frame, last = performance.last_frame, count = last - first + 1;
  std::vector<int> frames;
  if (!animation && command.every == 0 && count > kFramesOfASheet) {
    for (int i = 0; i < kFramesOfASheet; ++i)
      frames.push_back(first + static_cast<int>(std::lround(static_cast<double>(i) * (count - 1) /
                                                            (kFramesOfASheet - 1))));
  } else {
    for (int frame = first; frame <= last; frame += std::max(1, command.every)) frames.push_back(frame);
  }
  if (!animation && frames.size() > kMostTiles)
    throw Error(fmt::format("{} frames are too many for one sheet ({} at most); thin them out with --every",
                            frames.size(), kMostTiles));
  return frames;
}

bool is_animation(const std::filesystem::path& output) {
  const std::string extension = lower_case_extension(output);
  if (extension == ".webp") return true;
  if (extension == ".png") return false;
  throw Error(fmt::format("{}: expected a name that ends in .png or .webp", output.string()));
}

class RenderJob {
 public:
  explicit RenderJob(const RenderCommand& command)
      : command_(command),
        animation_(is_animation(command.output)),
        recipes_(choose_recipes(command.performance, command.compare)),
        view_(choose_view(command)),
        performance_(open_performance(performance_options(command))) {
    refuse_to_overwrite_inputs(command.performance, command.output);
    require_implicit_layers(command, recipes_);
    frames_ = choose_frames(command, performance_, animation_);
    const bool one_view = !animation_ && frames_.size() == 1 && recipes_.size() == 1;
    size_ = command.size.empty() ? (one_view ? ViewSize{960, 960} : ViewSize{480, 480})
                                 : parse_size(command.size);
    if (!command.focus.empty()) focus_ = find_joint("--focus", command.focus, performance_.scene);
    if (!command.cut.empty()) parse_cut(command.cut, Vec3d::UnitZ());  // to refuse it before all the work
    if (!command.field_slice.empty()) slice_ = parse_field_slice(command.field_slice);
    check_picture_size();
    prepare_methods();
    prepare_clay();
  }

  void run() {
    const Progress progress = progress_bar("render");
    report_progress(progress, 0);
    fit_camera(progress);
    if (animation_)
      write_animation(progress);
    else
      write_picture(progress);
    report_progress(progress, 1);
  }

 private:
  /// A picture of a file is the first thing people want: without a clip it shows the rest pose.
  static PerformanceOptions performance_options(const RenderCommand& command) {
    PerformanceOptions options = command.performance;
    if (!is_animation(command.output) && options.clip.empty() && options.motion.empty() &&
        options.frames.empty())
      options.clip = "none";
    return options;
  }

  /// A slice is looked at from where its plane is not an edge.
  static View choose_view(const RenderCommand& command) {
    if (!command.camera.empty()) return parse_view(command.camera);
    if (command.field_slice.empty()) return parse_view("front");
    constexpr const char* kFacing[] = {"left", "top", "front"};
    return parse_view(kFacing[parse_field_slice(command.field_slice).axis]);
  }

  /// Fails before anything is drawn when all of it will not fit into one picture.
  void check_picture_size() const {
    PixelSize size{size_.width, size_.height};
    if (!command_.compare.empty()) size = side_by_side_size(size, recipes_.size(), text_size());
    const bool sheet = !animation_ && (frames_.size() > 1 || command_.sheet != 0);
    if (sheet)
      size = contact_sheet_size(size, frames_.size(), sheet_options());
    else if (!command_.caption.empty())
      size = with_caption_size(size, text_size());
    const bool fits = animation_ ? size.width <= kMostWebpSide && size.height <= kMostWebpSide
                                 : size.width <= static_cast<std::int64_t>(kMostPixels) / size.height;
    if (!fits)
      throw Error(
          fmt::format("{}: {} × {} pixels are too many for one {}; choose smaller views with --size{}",
                      command_.output.string(), size.width, size.height, animation_ ? "animation" : "picture",
                      sheet ? " or fewer with --every" : ""));
  }

  SheetOptions sheet_options() const {
    SheetOptions options;
    options.columns = command_.sheet;
    options.title = command_.caption;
    options.text_size = text_size();
    return options;
  }

  void prepare_methods() {
    const Coloring coloring = parse_color(command_.color, performance_.scene);
    for (NamedRecipe& named : recipes_) {
      named.recipe.normals = false;  // pictures make their own
      DrawnMethod method;
      // A recipe is a file: its stem says enough.
      if (!command_.compare.empty()) method.name = std::filesystem::path(named.name).stem().string();
      method.character = make_character(performance_.scene, named.recipe);
      Coloring own = coloring;
      if (coloring.by == Coloring::By::marks && !has_implicit_layer(named.recipe)) own = {};
      if (coloring.by == Coloring::By::values) {
        own = freedom_of(*method.character, coloring.joint);
        if (own.by == Coloring::By::clay && command_.compare.empty())
          throw Error(
              fmt::format("--color freedom: '{}' has no volume layer; choose --skin volume or a "
                          "--recipe with one",
                          named.name));
      }
      method.picture = std::make_unique<CharacterPicture>(method.character, own);
      if (slice_ || command_.fields) prepare_fields(method);
      method.performer = std::make_unique<Performer>(method.character);
      methods_.push_back(std::move(method));
    }
    std::set<std::string> told;  // most are about the file, and the same for all methods
    for (const DrawnMethod& method : methods_)
      for (const std::string& warning : method.character->warnings())
        if (told.insert(warning).second)
          fmt::print(stderr, "sinew: warning: {}: {}\n", command_.performance.input, warning);
  }

  void prepare_fields(DrawnMethod& method) const {
    method.fields = std::make_unique<FieldsView>(*method.character, command_.fields);
    if (method.fields->empty())
      throw Error(fmt::format("{}: {}: no bone has a field; bones need skin of their own for one",
                              asked_of_implicit_skinning(command_), command_.performance.input));
  }

  void prepare_clay() {
    const bool draft = command_.quality.empty() ? animation_ : command_.quality == "draft";
    clay_.quality = draft ? ClayQuality::draft : ClayQuality::final;
    clay_.width = size_.width;
    clay_.height = size_.height;
    clay_.wireframe = command_.wireframe;
  }

  void rewind() {
    for (DrawnMethod& method : methods_) {
      method.performer->reset();
      method.pose = method.character->rest_pose();
      method.performed = -1;
    }
  }

  /// Performs a frame, later than the last; with history, all frames up to it.
  void advance(DrawnMethod& method, int frame) {
    int next = method.character->has_history() ? method.performed + 1 : frame;
    for (; next <= frame; ++next) {
      performance_.set_pose(next, method.pose);
      method.performer->perform(method.pose, method.performed < 0 ? 0 : 1 / performance_.frames_per_second);
      method.performed = next;
    }
  }

  /// Where the camera's frame of reference is in a pose.
  Vec3d anchor(const Pose& pose) const {
    const Skeleton& skeleton = performance_.scene.skeleton;
    Vec3d place = Vec3d::Zero();
    if (focus_ >= 0) {
      place = joint_position(skeleton, pose, focus_);
    } else if (command_.follow && skeleton.size() > 0) {
      place = joint_position(skeleton, pose, root_of_motion());
      place.y() = 0;  // a jump shall be seen
    }
    return place.allFinite() ? place : Vec3d(Vec3d::Zero());
  }

  /// The first joint that moves skin: files often have still nodes above it.
  int root_of_motion() const {
    const std::vector<Joint>& joints = performance_.scene.skeleton.joints;
    for (std::size_t j = 0; j < joints.size(); ++j)
      if (joints[j].deforms) return static_cast<int>(j);
    return 0;
  }

  void fit_camera(const Progress& progress) {
    CameraFit fit(view_, static_cast<double>(size_.width) / size_.height);
    Eigen::AlignedBox3f seen;
    std::vector<Vec3f> moved;
    rewind();
    for (const int frame : frames_)
      for (DrawnMethod& method : methods_) {
        report_progress(progress, 0);  // lets an interrupt through
        advance(method, frame);
        const std::span<const Vec3f> positions = method.performer->welded_positions();
        for (const Vec3f& p : positions)
          if (p.allFinite()) seen.extend(p);
        if (focus_ >= 0) continue;
        const Vec3f shift = anchor(method.pose).cast<float>();
        moved.assign(positions.begin(), positions.end());
        for (Vec3f& p : moved) p -= shift;
        fit.add(moved);
      }
    if (focus_ >= 0) fit.add(Vec3d::Zero(), focus_radius(*methods_[0].character, focus_));
    if (fit.empty())
      throw Error(fmt::format("{}: there is nothing to see: no vertex", command_.performance.input));
    camera_ = fit.camera(command_.zoom);
    if (!command_.no_floor && !seen.isEmpty()) clay_.floor = seen.min().y();
    if (!command_.cut.empty()) clay_.cut = parse_cut(command_.cut, camera_.back);
    if (slice_) check_slice(seen);
  }

  /// Throws Error for a plane that would be seen from its edge, and for one beside everything.
  void check_slice(const Eigen::AlignedBox3f& seen) const {
    constexpr double kLeastSine = 0.05;
    if (std::abs(camera_.back[slice_->axis]) < kLeastSine)
      throw Error(
          fmt::format("--field-slice {}: --camera {} looks along that plane; leave it out, or turn it",
                      command_.field_slice, command_.camera));
    const float low = seen.min()[slice_->axis], high = seen.max()[slice_->axis];
    if (!(slice_->offset >= low && slice_->offset <= high))
      throw Error(fmt::format("--field-slice {}: no skin is there; it reaches from {:.4g} to {:.4g}",
                              command_.field_slice, low, high));
  }

  Image draw(const DrawnMethod& method) const {
    Camera camera = camera_;
    camera.position += anchor(method.pose);
    const Pose* skeleton_pose = command_.skeleton ? &method.pose : nullptr;
    if (slice_)
      return method.fields->render_slice(*method.picture, *method.performer, *slice_, camera, clay_,
                                         skeleton_pose);
    if (command_.fields) return method.fields->render_solids(*method.performer, camera, clay_, skeleton_pose);
    if (command_.color == "contact") show_marks(method);
    return method.picture->render(*method.performer, camera, clay_, skeleton_pose);
  }

  /// What the last frame did to each vertex, as far as there is an implicit layer.
  static void show_marks(const DrawnMethod& method) {
    std::size_t number = 0;
    const FieldLayer* layer = find_field_layer(*method.character, &number);
    if (layer == nullptr) return;
    std::vector<std::uint8_t> marks;
    for (const SkinMark mark : layer->marks(*method.performer->layer_state(number)))
      marks.push_back(static_cast<std::uint8_t>(mark));
    method.picture->set_marks(marks);
  }

  float text_size() const { return std::clamp(0.03f * static_cast<float>(size_.height), 12.0f, 28.0f); }

  /// Methods side by side; one method has no header.
  Image compose(std::vector<CaptionedImage>& views) const {
    return views.size() == 1 && views[0].caption.empty() ? std::move(views[0].image)
                                                         : side_by_side(views, text_size());
  }

  /// Calls visit(frame, picture with all methods) for the chosen frames in order.
  template <class Visit>
  void draw_frames(const Progress& progress, const Visit& visit) {
    rewind();
    const auto views_in_all = static_cast<double>(frames_.size() * methods_.size());
    double drawn = 0;
    for (const int frame : frames_) {
      std::vector<CaptionedImage> views;
      for (DrawnMethod& method : methods_) {
        advance(method, frame);
        views.push_back({draw(method), method.name});
        report_progress(progress, 0.99 * ++drawn / views_in_all);
      }
      visit(frame, compose(views));
    }
  }

  void write_animation(const Progress& progress) {
    std::optional<WebpAnimation> animation;
    const double seconds = std::max(1, command_.every) / performance_.frames_per_second;
    draw_frames(progress, [&](int, Image picture) {
      if (!command_.caption.empty()) picture = with_caption(picture, command_.caption, text_size());
      if (!animation) animation.emplace(picture.width, picture.height);
      animation->add(picture, seconds);
    });
    write_webp(*animation, command_.output);
    fmt::print(stderr, "{} frame{} at {} fps: {}\n", frames_.size(), frames_.size() == 1 ? "" : "s",
               1 / seconds, command_.output.string());
  }

  void write_picture(const Progress& progress) {
    std::vector<CaptionedImage> tiles;
    draw_frames(progress, [&](int frame, Image picture) {
      tiles.push_back({std::move(picture), fmt::format("frame {}", frame)});
    });
    Image picture;
    if (tiles.size() == 1 && command_.sheet == 0) {
      picture = std::move(tiles[0].image);
      if (!command_.caption.empty()) picture = with_caption(picture, command_.caption, text_size());
    } else {
      picture = contact_sheet(tiles, sheet_options());
    }
    write_png(picture, command_.output);
    fmt::print(stderr, "{} × {} pixels{}: {}\n", picture.width, picture.height,
               tiles.size() > 1 ? fmt::format(", {} frames", tiles.size()) : "", command_.output.string());
  }

  const RenderCommand& command_;
  bool animation_;
  std::vector<NamedRecipe> recipes_;
  View view_;
  Performance performance_;
  std::vector<int> frames_;
  ViewSize size_;
  int focus_ = -1;
  std::optional<AxisPlane> slice_;
  std::vector<DrawnMethod> methods_;
  ClayOptions clay_;
  Camera camera_;
};

int run_render(const RenderCommand& command) {
  RenderJob(command).run();
  return 0;
}

std::function<int()> declare_render(CLI::App& app) {
  const auto command = std::make_shared<RenderCommand>();
  add_performance_options(app, command->performance);
  app.add_option("-o,--output", command->output,
                 "OUT.png (the rest pose, or the clip's frames on one sheet) or OUT.webp (an animation)")
      ->type_name(kFile)
      ->required();
  add_compare_option(app, command->compare);
  app.add_option("--size", command->size, "WxH: pixels of one view (default: 960x960, 480x480 of many)");
  app.add_option("--camera", command->camera,
                 "front, back, left, right, top, three-quarter, or YAW,PITCH in degrees (default: front; "
                 "for --field-slice, facing its plane)");
  app.add_option("--focus", command->focus, "JOINT: a close-up that follows this joint");
  app.add_option("--zoom", command->zoom, "above 1 shows a smaller part, larger")
      ->check(CLI::Range(0.05, 100.0));
  app.add_flag("--follow", command->follow, "the camera follows the character's root");
  app.add_option(
         "--color", command->color,
         "clay, weights, partition, stretch (area), contact (what implicit skinning did to each "
         "vertex), freedom or freedom:JOINT (how freely skin restores volume), or bone:JOINT (weight)")
      ->capture_default_str();
  app.add_flag("--wireframe", command->wireframe, "draw the triangles' edges");
  app.add_flag("--skeleton", command->skeleton, "draw the bones over the surface");
  app.add_flag("--no-floor", command->no_floor, "no floor to cast a shadow on");
  app.add_option("--cut", command->cut,
                 "x=0.1: cut the character open there, the side towards the camera taken away; "
                 "x<0.1 and x>0.1 say which side stays");
  app.add_option("--field-slice", command->field_slice,
                 "x=0.1: cut the character open there and paint the field of implicit skinning on the "
                 "plane, with its iso-lines; y=0.1 and z=0.1 likewise")
      ->excludes("--cut")
      ->excludes("--color");
  app.add_flag("--fields", command->fields,
               "show each bone's field of implicit skinning as a solid, with the skin as glass")
      ->excludes("--field-slice")
      ->excludes("--color")
      ->excludes("--wireframe");
  app.add_option("--quality", command->quality, "draft or final (default: draft for .webp)")
      ->check(CLI::IsMember({"draft", "final"}));
  app.add_option("--sheet", command->sheet, "columns of a sheet of several frames")
      ->check(CLI::Range(1, 100));
  app.add_option("--every", command->every, "N: show every Nth frame only")->check(CLI::Range(1, 1000000));
  app.add_option("--caption", command->caption, "a line of text for the picture");
  return [command] { return run_render(*command); };
}

}  // namespace

const Verb kRenderVerb{"render", "Draw a picture or an animation of a character in clay", declare_render};

}  // namespace sinew::cli
