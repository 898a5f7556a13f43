#pragma once

#include <filesystem>
#include <string>
#include <vector>

/// One struct and one function per verb. main.cpp alone knows the option parser, which is slow to compile.
namespace sinew::cli {

struct InfoOptions {
  std::string input;
  bool json = false;
};
int run_info(const InfoOptions& options);

struct BakeCommand {
  std::string input;
  std::filesystem::path output;
  std::string clip;                ///< name or number; empty: the only one, or the rest pose
  std::string motion;              ///< file whose clips are retargeted to the input; empty: the input's own
  std::vector<std::string> poses;  ///< JOINT=X,Y,Z in degrees
  std::string skin;                ///< method; empty: the recipe's
  std::filesystem::path recipe;
  double fps = 0;  ///< 0: the clip's own rate
  std::string frames;
  char up = 'y';
  bool json = false;
};
int run_bake(const BakeCommand& command);

struct RecipeOptions {
  bool json = false;
};
int run_recipe(const RecipeOptions& options);

struct BenchOptions {
  bool json = false;
  int repeats = 60;
};
int run_bench(const BenchOptions& options);

struct DemoOptions {
  std::filesystem::path directory = "out/demo";
};
int run_demo(const DemoOptions& options);

}  // namespace sinew::cli
