#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/cli/performance.h"

/// One struct and one function per verb. main.cpp alone knows the option parser, which is slow to compile.
namespace sinew::cli {

struct InfoOptions {
  std::string input;
  bool json = false;
};
int run_info(const InfoOptions& options);

struct GenerateCommand {
  std::string name;
  std::filesystem::path output;
  std::size_t vertices = 0;  ///< 0: the model's usual number
  double arm = 1, leg = 1, head = 1, girth = 1;
};
int run_generate(const GenerateCommand& command);

struct BindCommand {
  std::string mesh;
  std::string rig;               ///< empty: the mesh's own skeleton
  std::filesystem::path output;  ///< .glb
  std::string method = "heat";
  std::string influences = "4";   ///< a number or all
  std::string symmetry = "auto";  ///< auto, none, x, y or z
  double sharpness = 2;
  int smooth = 0;
  double prune = 0.01;
  std::vector<std::string> lock, ignore, meshes;  ///< patterns of names
  std::filesystem::path pictures;                 ///< directory, empty: none
  bool json = false;
};
int run_bind(const BindCommand& command);

struct FitCommand {
  std::string mesh;
  std::string rig;
  std::filesystem::path output;   ///< .glb or .json
  std::string head_bone;          ///< empty: guessed
  std::string head;               ///< x,y,z; empty: guessed
  std::filesystem::path picture;  ///< .png, empty: none
  bool asymmetric = false;
  bool json = false;
};
int run_fit(const FitCommand& command);

struct TransferCommand {
  std::string bound;
  std::string mesh;
  std::filesystem::path output;    ///< .glb
  std::optional<double> distance;  ///< share of the bound mesh's size; none: the usual
  std::optional<double> angle;     ///< degrees; none: the usual
  std::string influences = "4";
  std::vector<std::string> meshes;
  std::filesystem::path pictures;
  bool json = false;
};
int run_transfer(const TransferCommand& command);

struct BakeCommand {
  PerformanceOptions performance;
  std::filesystem::path output;
  char up = 'y';
  bool loop = false;
  bool json = false;
};
int run_bake(const BakeCommand& command);

struct MeasureCommand {
  PerformanceOptions performance;
  std::string compare;  ///< methods and recipe files, separated by commas; empty: the performance's own
  bool per_frame = false;
  bool json = false;
};
int run_measure(const MeasureCommand& command);

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
int run_render(const RenderCommand& command);

struct RecipeOptions {
  bool json = false;
  std::string profiles;  ///< a recipe whose curves are to be drawn
  std::string output;
};
int run_recipe(const RecipeOptions& options);

struct SuggestCommand {
  PerformanceOptions performance;  ///< wrinkles: what the character does; no clip: all of them
  std::string layer = "flesh";
  int most = 16;  ///< wrinkle tools
  std::string output;
};
int run_suggest(const SuggestCommand& command);

struct BenchOptions {
  bool json = false;
  int repeats = 0;             ///< 0: up to 60, fewer where a case takes long
  std::string filter;          ///< only cases with this in their name
  std::string methods;         ///< A,B,C: only these, next to lbs, to which they are compared; empty: all
  std::filesystem::path plot;  ///< .svg to write, empty: none
};
int run_bench(const BenchOptions& options);

struct DemoOptions {
  std::filesystem::path directory = "out/demo";
  std::string only;    ///< one character; empty: all
  int size = 400;      ///< pixels of one view's side
  bool quick = false;  ///< coarse characters and few frames
};
int run_demo(const DemoOptions& options);

}  // namespace sinew::cli
