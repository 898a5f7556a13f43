#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <set>

#include <fmt/format.h>

#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/picture/camera.h>
#include <sinew/picture/character_picture.h>
#include <sinew/picture/clay.h>
#include <sinew/picture/contact_sheet.h>
#include <sinew/picture/png.h>
#include <sinew/picture/webp.h>

#include "apps/cli/performance.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

constexpr int kFramesOfASheet = 12;  // where the user does not say which
constexpr int kMostTiles = 400;
constexpr int kLongestSide = 16384;  // pixels of one view

struct Size {
  int width;
  int height;
};

Size parse_size(const std::string& text) {
  Size size{};
  const char* end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  if (width.ec == std::errc() && width.ptr != end && *width.ptr == 'x') {
    const auto height = std::from_chars(width.ptr + 1, end, size.height);
    if (height.ec == std::errc() && height.ptr == end && size.width >= 16 && size.height >= 16 &&
        size.width <= kLongestSide && size.height <= kLongestSide) {
      if (std::int64_t{size.width} * size.height > kMostClayPixels)
        throw Error(fmt::format("--size {}: {} × {} pixels are too many for one picture ({} million at most)",
                                text, size.width, size.height, kMostClayPixels / 1000000));
      return size;
    }
  }
  throw Error(fmt::format("--size {}: expected WIDTHxHEIGHT, each from 16 to {} pixels", text, kLongestSide));
}

int find_joint(const std::string& option, const std::string& name, const Scene& scene) {
  const int joint = scene.skeleton.find(name);
  if (joint < 0)
    throw Error(fmt::format("{} {}: no joint of that name; `sinew info --json` lists them", option, name));
  return joint;
}

Coloring parse_color(const std::string& text, const Scene& scene) {
  constexpr std::string_view kBone = "bone:";
  Coloring coloring;
  if (text == "clay") return coloring;
  if (text == "weights") {
    coloring.by = Coloring::By::weights;
  } else if (text == "partition") {
    coloring.by = Coloring::By::partition;
  } else if (text == "stretch") {
    coloring.by = Coloring::By::stretch;
  } else if (text.starts_with(kBone)) {
    coloring.by = Coloring::By::joint;
    coloring.joint = find_joint("--color bone:", text.substr(kBone.size()), scene);
  } else {
    throw Error(fmt::format("--color {}: expected clay, weights, partition, stretch or bone:JOINT", text));
  }
  return coloring;
}

/// AXIS=OFFSET keeps the side away from the camera.
CutPlane parse_cut(const std::string& text, const Vec3d& towards_camera) {
  const auto fail = [&]() -> CutPlane {
    throw Error(fmt::format("--cut {}: expected x=OFFSET, x<OFFSET or x>OFFSET (or y, z), in metres", text));
  };
  if (text.size() < 3 || text[0] < 'x' || text[0] > 'z') return fail();
  float offset = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + 2, end, offset);
  if (error != std::errc() || rest != end || !std::isfinite(offset)) return fail();
  const int axis = text[0] - 'x';
  const bool keep_lower = text[1] == '<' || (text[1] == '=' && towards_camera[axis] >= 0);
  if (text[1] != '<' && text[1] != '=' && text[1] != '>') return fail();
  CutPlane cut;
  cut.normal = (keep_lower ? 1.0f : -1.0f) * Vec3f::Unit(axis);
  cut.offset = keep_lower ? offset : -offset;
  return cut;
}

/// One way to deform the character, and what draws the result.
struct Method {
  std::string name;
  std::shared_ptr<const Character> character;
  std::unique_ptr<CharacterPicture> picture;
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
  if (output.extension() == ".webp") return true;
  if (output.extension() == ".png") return false;
  throw Error(fmt::format("{}: expected a name that ends in .png or .webp", output.string()));
}

class RenderJob {
 public:
  explicit RenderJob(const RenderCommand& command)
      : command_(command),
        animation_(is_animation(command.output)),
        recipes_(choose_recipes(command.performance, command.compare)),
        view_(parse_view(command.camera)),
        performance_(open_performance(performance_options(command))) {
    refuse_to_overwrite_inputs(command.performance, command.output);
    frames_ = choose_frames(command, performance_, animation_);
    const bool one_view = !animation_ && frames_.size() == 1 && recipes_.size() == 1;
    size_ = command.size.empty() ? (one_view ? Size{960, 960} : Size{480, 480}) : parse_size(command.size);
    if (!command.focus.empty()) focus_ = find_joint("--focus", command.focus, performance_.scene);
    if (!command.cut.empty()) parse_cut(command.cut, Vec3d::UnitZ());  // to refuse it before all the work
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
      Method method;
      if (!command_.compare.empty()) method.name = named.name;
      method.character = Character::make(performance_.scene, named.recipe);
      method.picture = std::make_unique<CharacterPicture>(method.character, coloring);
      method.performer = std::make_unique<Performer>(method.character);
      methods_.push_back(std::move(method));
    }
    std::set<std::string> told;  // most are about the file, and the same for all methods
    for (const Method& method : methods_)
      for (const std::string& warning : method.character->warnings())
        if (told.insert(warning).second)
          fmt::print(stderr, "sinew: warning: {}: {}\n", command_.performance.input, warning);
  }

  void prepare_clay() {
    const bool draft = command_.quality.empty() ? animation_ : command_.quality == "draft";
    clay_.quality = draft ? ClayQuality::draft : ClayQuality::final;
    clay_.width = size_.width;
    clay_.height = size_.height;
    clay_.wireframe = command_.wireframe;
  }

  void rewind() {
    for (Method& method : methods_) {
      method.performer->reset();
      method.pose = method.character->rest_pose();
      method.performed = -1;
    }
  }

  /// Performs a frame, later than the last; with history, all frames up to it.
  void advance(Method& method, int frame) {
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
    float lowest = std::numeric_limits<float>::infinity();
    std::vector<Vec3f> moved;
    rewind();
    for (const int frame : frames_)
      for (Method& method : methods_) {
        report_progress(progress, 0);  // lets an interrupt through
        advance(method, frame);
        const std::span<const Vec3f> positions = method.performer->welded_positions();
        for (const Vec3f& p : positions)
          if (p.allFinite()) lowest = std::min(lowest, p.y());
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
    if (!command_.no_floor && std::isfinite(lowest)) clay_.floor = lowest;
    if (!command_.cut.empty()) clay_.cut = parse_cut(command_.cut, camera_.back);
  }

  Image draw(const Method& method) const {
    Camera camera = camera_;
    camera.position += anchor(method.pose);
    return method.picture->render(*method.performer, camera, clay_,
                                  command_.skeleton ? &method.pose : nullptr);
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
      for (Method& method : methods_) {
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
  Size size_{};
  int focus_ = -1;
  std::vector<Method> methods_;
  ClayOptions clay_;
  Camera camera_;
};

}  // namespace

int run_render(const RenderCommand& command) {
  RenderJob(command).run();
  return 0;
}

}  // namespace sinew::cli
