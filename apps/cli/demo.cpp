// Generates built-in characters, plays their clips by several methods and writes pictures, animations, GLB
// files and a report to look at. With --all every method that is registered takes part.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <sinew/authoring/suggest_wrinkles.h>
#include <sinew/character/bake.h>
#include <sinew/character/performer.h>
#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/fitting/fit_scene.h>
#include <sinew/fitting/template_rigs.h>
#include <sinew/measure/performance_ruler.h>
#include <sinew/models/models.h>
#include <sinew/picture/character_picture.h>
#include <sinew/picture/contact_sheet.h>
#include <sinew/picture/png.h>
#include <sinew/picture/report.h>
#include <sinew/picture/webp.h>
#include <sinew/scene/gltf.h>
#include <sinew/scene/rig_file.h>
#include <sinew/version.h>

#include "apps/cli/argument_types.h"
#include "apps/cli/demo_acts.h"
#include "apps/cli/demo_figures.h"
#include "apps/cli/fit_picture.h"
#include "apps/cli/operator_tables.h"
#include "apps/cli/progress_bar.h"
#include "apps/cli/verbs.h"

namespace sinew::cli {

namespace {

struct DemoOptions {
  std::filesystem::path directory = "out/demo";
  bool all = false;    ///< every character and every method, and the fit of a rig
  std::string only;    ///< one character; empty: as `all` says
  int size = 400;      ///< pixels of one view's side
  bool quick = false;  ///< coarse characters and few frames
};

constexpr double kFramesPerSecond = 30;  // of the built-in clips

// What is shown first: contact at an elbow and all over a body, by the two methods that every program has and
// by the two that keep skin out of skin.
constexpr std::array<std::string_view, 2> kFirstCharacters{"arm", "mannequin"};
constexpr std::array<std::string_view, 4> kFirstMethods{"lbs", "dqs", "implicit", "elastic"};

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<LayerMethod> choose_methods(bool all) {
  std::vector<LayerMethod> chosen;
  for (const LayerMethod& method : layer_methods())
    if (all || contains(kFirstMethods, method.name)) chosen.push_back(method);
  return chosen;
}

/// The names of those that are shown, or of those that are not, separated by commas.
std::string method_names(std::span<const LayerMethod> shown, bool others = false) {
  std::string names;
  for (const LayerMethod& method : layer_methods()) {
    const bool is_shown = std::any_of(shown.begin(), shown.end(),
                                      [&](const LayerMethod& other) { return other.name == method.name; });
    if (is_shown != others) names += fmt::format("{}{}", names.empty() ? "" : ", ", method.name);
  }
  return names;
}

/// The method with its defaults; wrinkles get the tools that suggest themselves in the clips.
Recipe recipe_of(const LayerMethod& method, const Scene& scene, std::span<const Clip* const> clips) {
  Recipe recipe = recipe_for_method(method.name);
  recipe.normals = false;
  if (method.name != "wrinkles") return recipe;
  constexpr int kFramesPerClip = 12;
  WrinkleFrames frames;
  frames.count = kFramesPerClip * static_cast<int>(clips.size());
  frames.set_pose = [&](int frame, Pose& pose) {
    const Clip& clip = *clips[to_size(frame / kFramesPerClip)];
    pose = rest_pose(scene);
    sample_clip(clip, clip.duration() * (frame % kFramesPerClip) / (kFramesPerClip - 1), pose);
  };
  auto options = std::make_shared<WrinkleLayerOptions>();
  options->tools = suggest_wrinkles(Character::make(scene, Recipe()), frames);
  recipe.layers.back().options = std::move(options);
  return recipe;
}

struct Actor {
  std::string name;
  Recipe recipe;
  std::shared_ptr<const Character> character;
  std::unique_ptr<CharacterPicture> picture;
  std::unique_ptr<Performer> performer;
};

std::vector<int> evenly(int last_frame, int count) {
  std::vector<int> frames;
  for (int i = 0; i < count; ++i)
    frames.push_back(
        static_cast<int>(std::lround(static_cast<double>(i) * last_frame / std::max(1, count - 1))));
  frames.erase(std::unique(frames.begin(), frames.end()), frames.end());
  return frames;
}

class Demo {
 public:
  Demo(const DemoOptions& options)
      : options_(options),
        methods_(choose_methods(options.all)),
        progress_(progress_bar("demo")),
        report_(
            options.all ? "Sinew: every method, side by side"
                        : fmt::format("Sinew: {} methods, side by side", methods_.size()),
            fmt::format("sinew {}, {} methods: {}", SINEW_VERSION, methods_.size(), method_names(methods_))) {
    const int methods = static_cast<int>(methods_.size());
    // However many methods there are, the demo takes about as long: what is drawn is shared out.
    const int effort = options.quick ? 4 : 1;
    animation_frames_ = std::clamp(150 / (methods * effort), 8, 75);
    measured_frames_ = std::clamp(64 / (methods * effort), 5, 31);
    baked_frames_ = std::clamp(52 / (methods * effort), 4, 26);
    stills_ = methods > 4 ? 3 : 4;
    still_quality_ = methods > 4 ? ClayQuality::draft : ClayQuality::final;
  }

  void run() {
    std::vector<const Act*> acts;
    for (const Act& act : demo_acts())
      if (options_.only.empty() ? options_.all || contains(kFirstCharacters, act.model)
                                : options_.only == act.model)
        acts.push_back(&act);
    if (acts.empty())
      throw Error(fmt::format("--only {}: the demo shows arm, hand, mannequin and cat", options_.only));
    make_directory();
    introduce();
    for (std::size_t a = 0; a < acts.size(); ++a) {
      first_share_ = static_cast<double>(a) / static_cast<double>(acts.size());
      share_ = 1 / static_cast<double>(acts.size());
      play(*acts[a]);
    }
    if (options_.all && (options_.only.empty() || options_.only == "mannequin")) fit();
    report_.section("Files");
    report_.list(files_);
    report_.paragraph(
        "NAME.glb is the rigged character with its clips; NAME_CLIP_METHOD.glb holds frames as morph targets "
        "and plays in any glTF viewer.");
    report_.write(options_.directory / "report.html");
    report_progress(progress_, 1);
    fmt::print(
        "{0}/report.html has pictures, figures and plots; the pictures, animations (.webp) and "
        "characters (.glb) stand beside it\n",
        options_.directory.string());
    if (!options_.all)
      fmt::print("`sinew demo --all` shows all {} methods on all characters\n", layer_methods().size());
  }

 private:
  void introduce() {
    const std::string what =
        "The pictures show the same frames of the same clips; the tables give each figure at its worst "
        "frame.";
    if (options_.all) {
      report_.paragraph("Characters made by code, deformed by every method that this build has. " + what);
      return;
    }
    report_.paragraph(
        "Characters made by code, deformed by four methods. Linear blending (lbs) and dual quaternions (dqs) "
        "move each vertex by itself, so skin passes through skin where a joint closes. Implicit skinning "
        "stops "
        "it at the contact; elastic skinning also remembers where it was, so it slides and stretches. " +
        what);
    report_.paragraph(fmt::format(
        "`sinew demo --all` shows the rest: every built-in character, the methods {}, and a rig that is "
        "fitted to another body.",
        method_names(methods_, true)));
  }

  void make_directory() const {
    std::error_code error;
    std::filesystem::create_directories(options_.directory, error);
    if (error)
      throw Error(
          fmt::format("{}: cannot make the directory: {}", options_.directory.string(), error.message()));
  }

  /// A rig in a body that it was not made for.
  void fit() {
    ModelOptions shape;
    shape.vertices = 14000;
    shape.proportions = {1.3, 0.75, 1.35, 1.15};
    Scene body;
    body.meshes.push_back(make_model("mannequin", shape).scene.meshes[0]);
    body.meshes[0].skin = -1;
    body.meshes[0].joint = -1;
    body.meshes[0].weights = {};
    const FittedScene fitted = fit_scene(body, scene_from_rig(make_template_rig("biped"), "template:biped"));
    const Image picture = draw_fit(fitted);
    write_png(picture, file("fit.png", "the template biped, with its controllers, in another body"));
    write_glb(fitted.scene, file("fit.glb", "that body with the fitted rig, ready for `sinew bind`"));
    report_.section("Fitting a rig");
    report_.picture(
        encode_webp(picture),
        "Limbs found in a body with long arms, short legs and a large head (blue), and the template biped "
        "fitted to it: bones (orange) and controllers (green).",
        "a mesh with its limbs and a fitted rig");
  }

  /// `share` of the current act is done.
  void step(double share) {
    done_ = first_share_ + share_ * share;
    report_progress(progress_, done_);
  }

  std::filesystem::path file(const std::string& name, const std::string& about) {
    files_.push_back(fmt::format("{}: {}", name, about));
    return options_.directory / name;
  }

  void play(const Act& act) {
    act_ = &act;
    ModelOptions model;
    model.vertices = act.vertices;
    if (options_.quick) {
      const auto all = models();
      model.vertices = std::find_if(all.begin(), all.end(), [&](const Model& m) {
                         return m.name == act.model;
                       })->least_vertices;
    }
    scene_ = make_model(act.model, model, [&](double share) {
               step(0.1 * share);
               return true;
             }).scene;
    write_glb(scene_, file(std::string(act.model) + ".glb", "the character with its clips"));
    actors_.clear();
    std::vector<const Clip*> clips;
    std::vector<Played> played_clips;
    for (const Played& shown : act.clips)
      if (options_.all || shown.first || !contains(kFirstCharacters, act.model))
        played_clips.push_back(shown);
    for (const Played& shown : played_clips) clips.push_back(&clip(shown.name));
    for (const LayerMethod& method : methods_) {
      Actor actor;
      actor.name = std::string(method.name);
      actor.recipe = recipe_of(method, scene_, clips);
      actor.character = make_character(scene_, actor.recipe);
      if (!actor.character->layers().back()->idle_because().empty()) continue;
      actor.picture = std::make_unique<CharacterPicture>(actor.character);
      actor.performer = std::make_unique<Performer>(actor.character);
      actors_.push_back(std::move(actor));
    }
    report_.section(act.model);
    report_.paragraph(act.about);
    close_up();  // where methods differ most stands first
    step(0.2);
    double seconds = 0;
    for (const Played& shown : played_clips) seconds += clip(shown.name).duration();
    std::optional<WebpAnimation> animation;
    std::vector<ClipPart> parts;
    for (std::size_t c = 0; c < played_clips.size(); ++c) {
      const Clip& played = clip(played_clips[c].name);
      const int frames = std::max(4, static_cast<int>(animation_frames_ * played.duration() / seconds));
      parts.push_back(play_clip(played, played_clips[c].still_share, frames, animation));
      step(0.2 + 0.7 * static_cast<double>(c + 1) / static_cast<double>(played_clips.size()));
    }
    const std::string animated = std::string(act.model) + ".webp";
    const std::vector<std::byte> bytes = animation->finish();
    write_file(file(animated, "all clips, the methods side by side"), as_text(bytes));
    report_.picture(bytes, "All clips, the methods side by side.", std::string(act.model) + " moving");
    for (const ClipPart& part : parts) report_clip(part);
    bake();
    step(1);
  }

  struct ClipPart {
    const Clip* clip;
    std::vector<std::byte> sheet;  // WebP
    std::vector<MethodFigures> measured;
  };

  const Clip& clip(std::string_view name) const {
    return *std::find_if(scene_.clips.begin(), scene_.clips.end(),
                         [&](const Clip& c) { return c.name == name; });
  }

  Vec3d root_place(const Pose& pose) const {
    Vec3d place = joint_position(scene_.skeleton, pose, 0);
    place.y() = 0;  // a jump shall be seen
    return place;
  }

  /// A camera that sees all the frames, from a place that goes along with the root.
  Camera fit_camera(const Clip& played, const std::vector<int>& frames, float& floor) {
    CameraFit fit(parse_view(act_->view), 1, 0.05);
    Actor& actor = actors_.front();
    actor.performer->reset();
    floor = std::numeric_limits<float>::infinity();
    std::vector<Vec3f> moved;
    for (const int frame : frames) {
      Pose pose = actor.character->rest_pose();
      sample_clip(played, frame / kFramesPerSecond, pose);
      actor.performer->perform(pose);
      const Vec3f shift = root_place(pose).cast<float>();
      moved.assign(actor.performer->welded_positions().begin(), actor.performer->welded_positions().end());
      for (Vec3f& p : moved) {
        floor = std::min(floor, p.y());
        p -= shift;
      }
      fit.add(moved);
    }
    return fit.camera();
  }

  ClayOptions clay(int size, ClayQuality quality, float floor) const {
    ClayOptions options;
    options.width = options.height = size;
    options.quality = quality;
    options.floor = floor;
    return options;
  }

  /// Plays every frame (some methods have a history), draws the chosen ones and measures.
  ClipPart play_clip(const Clip& played, double still_share, int frames_to_draw,
                     std::optional<WebpAnimation>& animation) {
    const int last = frame_count(played, kFramesPerSecond) - 1;
    const std::vector<int> drawn = evenly(last, frames_to_draw),
                           stills = evenly(static_cast<int>(still_share * last), stills_);
    float floor = 0;
    const Camera fitted = fit_camera(played, drawn, floor);
    std::vector<CaptionedImage> tiles(stills.size() * actors_.size());
    for (Actor& actor : actors_) actor.performer->reset();
    for (int frame = 0; frame <= last; ++frame) {
      const bool draws = std::binary_search(drawn.begin(), drawn.end(), frame);
      const auto still = std::find(stills.begin(), stills.end(), frame);
      std::vector<CaptionedImage> views;
      for (std::size_t a = 0; a < actors_.size(); ++a) {
        Actor& actor = actors_[a];
        if (!draws && still == stills.end() && !actor.character->has_history()) continue;
        Pose pose = actor.character->rest_pose();
        sample_clip(played, frame / kFramesPerSecond, pose);
        actor.performer->perform(pose, frame > 0 ? 1 / kFramesPerSecond : 0);
        Camera camera = fitted;
        camera.position += root_place(pose);
        if (draws)
          views.push_back({actor.picture->render(*actor.performer, camera,
                                                 clay(options_.size * 3 / 4, ClayQuality::draft, floor)),
                           actor.name});
        if (still != stills.end())
          tiles[to_size(still - stills.begin()) * actors_.size() + a] = {
              actor.picture->render(*actor.performer, camera, clay(options_.size, still_quality_, floor)),
              fmt::format("{}, frame {}", actor.name, frame)};
        report_progress(progress_, done_);  // lets an interrupt through
      }
      if (!views.empty()) {
        const Image picture = side_by_side(views);
        if (!animation) animation.emplace(picture.width, picture.height);
        animation->add(picture, std::max(0.04, played.duration() / static_cast<double>(drawn.size())));
      }
    }
    ClipPart part;
    part.clip = &played;
    SheetOptions layout;
    // Methods one below the other, time to the right.
    std::vector<CaptionedImage> sorted;
    for (std::size_t a = 0; a < actors_.size(); ++a)
      for (std::size_t s = 0; s < stills.size(); ++s)
        sorted.push_back(std::move(tiles[s * actors_.size() + a]));
    layout.columns = static_cast<int>(stills.size());
    layout.title = fmt::format("{}: {}", act_->model, played.name);
    const Image sheet = contact_sheet(sorted, layout);
    write_png(sheet, file(fmt::format("{}_{}.png", act_->model, played.name), "contact sheet"));
    part.sheet = encode_webp(sheet);
    measure(part);
    return part;
  }

  void measure(ClipPart& part) {
    const double rate = (measured_frames_ - 1) / part.clip->duration();
    for (const Actor& actor : actors_) {
      MeasureOptions options;
      options.last_frame = measured_frames_ - 1;
      options.frames_per_second = rate;
      options.set_pose = [&](int frame, Pose& pose) {
        pose = actor.character->rest_pose();
        sample_clip(*part.clip, frame / rate, pose);
      };
      part.measured.push_back({actor.name, measure_performance(actor.character, options)});
      report_progress(progress_, done_);
    }
  }

  void report_clip(const ClipPart& part) {
    report_.subsection(fmt::format("{}: {}", act_->model, part.clip->name));
    report_.picture(part.sheet, "Rows: methods. Columns: time; of a gait, one stride.",
                    fmt::format("{} {} by each method", act_->model, part.clip->name));
    report_figures(report_, part.measured, part.clip->duration());
  }

  /// The last frame of a clip from near by: as clay, with its triangles, by stretch, and cut open.
  void close_up() {
    const Clip& played = clip(act_->close_up_clip);
    const int last = frame_count(played, kFramesPerSecond) - 1;
    const int joint = scene_.skeleton.find(act_->close_up_joint);
    std::vector<CaptionedImage> tiles;
    for (Actor& actor : actors_) {
      actor.performer->reset();
      Pose pose = actor.character->rest_pose();
      for (int frame = actor.character->has_history() ? 0 : last; frame <= last; ++frame) {
        pose = actor.character->rest_pose();
        sample_clip(played, frame / kFramesPerSecond, pose);
        actor.performer->perform(pose, frame > 0 ? 1 / kFramesPerSecond : 0);
      }
      const Vec3d place = joint_position(scene_.skeleton, pose, joint);
      CameraFit fit(parse_view(act_->close_up_view), 1);
      fit.add(place, focus_radius(*actor.character, joint));
      const Camera camera = fit.camera();
      ClayOptions plain = clay(options_.size, still_quality_, 0);
      plain.floor.reset();
      ClayOptions wires = plain, open = plain;
      wires.wireframe = true;
      // The plane in which the joint closes, seen from the camera's side.
      Vec3d normal = camera.back;
      normal.y() = 0;
      normal.normalize();
      open.cut = CutPlane{normal.cast<float>(), static_cast<float>(normal.dot(place))};
      const CharacterPicture stretch(actor.character, Coloring{Coloring::By::stretch, -1, {}, {}});
      tiles.push_back({actor.picture->render(*actor.performer, camera, plain), actor.name});
      tiles.push_back({actor.picture->render(*actor.performer, camera, wires), actor.name + ", triangles"});
      tiles.push_back({stretch.render(*actor.performer, camera, plain), actor.name + ", change of area"});
      tiles.push_back({actor.picture->render(*actor.performer, camera, open), actor.name + ", cut open"});
      report_progress(progress_, done_);
    }
    SheetOptions layout;
    layout.columns = 4;
    layout.title = fmt::format("{}: {} at the end of {}", act_->model, act_->close_up_joint, played.name);
    const Image sheet = contact_sheet(tiles, layout);
    write_png(sheet, file(fmt::format("{}_close_up.png", act_->model), "the joint from near by"));
    report_.picture(
        encode_webp(sheet),
        "From near by: clay, triangles, change of area, and cut open: skin inside skin shows as a "
        "line within the section.",
        fmt::format("close-up of {}", act_->close_up_joint));
  }

  void bake() {
    const Clip& played = clip(act_->baked_clip);
    const double rate = (baked_frames_ - 1) / played.duration();
    for (const Actor& actor : actors_) {
      FrameWriterOptions format;
      format.frame_count = baked_frames_;
      format.frames_per_second = rate;
      format.clip_name = played.name;
      BakeOptions frames;
      frames.last_frame = baked_frames_ - 1;
      frames.frames_per_second = rate;
      frames.set_pose = [&](int frame, Pose& pose) {
        pose = actor.character->rest_pose();
        sample_clip(played, frame / rate, pose);
      };
      const std::string name = fmt::format("{}_{}_{}.glb", act_->model, played.name, actor.name);
      // Normals are what makes a viewer's shading right.
      Recipe recipe = actor.recipe;
      recipe.normals = true;
      const auto character = make_character(scene_, recipe);
      const auto writer =
          make_frame_writer(character->shown_scene(scene_),
                            file(name, fmt::format("{} frames as morph targets", baked_frames_)), format);
      sinew::bake(character, frames, *writer);
      report_progress(progress_, done_);
    }
  }

  const DemoOptions& options_;
  std::vector<LayerMethod> methods_;
  Progress progress_;
  Report report_;
  std::vector<std::string> files_;
  int animation_frames_;  // per character, over all clips
  int measured_frames_;   // per clip
  int baked_frames_;
  int stills_;  // per clip and method
  ClayQuality still_quality_;
  double first_share_ = 0, share_ = 1;  // of the whole: the current act's
  double done_ = 0;
  const Act* act_ = nullptr;
  Scene scene_;
  std::vector<Actor> actors_;
};

int run_demo(const DemoOptions& options) {
  Demo(options).run();
  return 0;
}

std::function<int()> declare_demo(CLI::App& app) {
  const auto options = std::make_shared<DemoOptions>();
  app.add_option("-o,--output", options->directory, "directory to write to (default: out/demo)")
      ->type_name(kDirectory);
  app.add_flag("--all", options->all, "every character and every method, and a rig that is fitted to a body");
  app.add_option("--only", options->only,
                 "this character alone (default: arm and mannequin; all of them with --all)")
      ->check(choices({"arm", "hand", "mannequin", "cat"}));
  app.add_option("--size", options->size, "pixels of one view's side (default: 400)")
      ->check(CLI::Range(32, 2000));
  app.add_flag("--quick", options->quick, "coarse characters and few frames: rough, but quick");
  return [options] { return run_demo(*options); };
}

}  // namespace

const Verb kDemoVerb{"demo", "Show methods on built-in characters: pictures, figures, files", declare_demo};

}  // namespace sinew::cli
