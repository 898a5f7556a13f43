#pragma once

#include <filesystem>
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

struct BakeCommand {
  PerformanceOptions performance;
  std::filesystem::path output;
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
