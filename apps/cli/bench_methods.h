#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/character/layer.h>
#include <sinew/scene/scene.h>

#include "apps/cli/bench_timing.h"

/// Every registered method on built-in characters, as a program would run it: Character and Performer.
namespace sinew::cli {

/// A character, what it does and how many of it there are.
struct MethodCase {
  std::string name;
  std::string model;  ///< built-in, or a file
  std::size_t vertices = 0;
  std::string clip;  ///< bends every region of the character
  int performers = 1;
};

std::span<const MethodCase> method_cases();
/// A case for each clip of a scene, or for the one of that name. Throws Error when there is none.
std::vector<MethodCase> cases_of(const Scene& scene, const std::string& file, const std::string& clip);

/// One method with one kind of output on one number of threads. A frame is one of all performers.
struct MethodRun {
  std::string method;
  bool normals = false;
  int threads = 1;
  double setup_seconds = 0;  ///< Character::make and the performers; median of a few
  Timing frame;
  double nanoseconds_per_vertex = 0;  ///< of all performers' vertices
  double ratio_to_lbs = 0;            ///< same case, output and threads
  /// By how much the process grew for the character, and then for all its performers (resident memory).
  std::size_t character_bytes = 0;
  std::size_t performer_bytes = 0;
  std::uint64_t hash = 0;          ///< of all positions after frames that never change
  std::uint64_t normals_hash = 0;  ///< 0 without normals
};

struct CaseResult {
  MethodCase what;
  std::size_t joints = 0;  ///< that move vertices
  int frames = 0;          ///< of the clip
  std::vector<MethodRun> runs;
};

/// `scene` is the model of the case. Set-up and frames of all `methods` are timed in turns.
CaseResult bench_methods(const MethodCase& what, const Scene& scene, std::span<const LayerMethod> methods,
                         const TimingOptions& options, const Progress& progress);

}  // namespace sinew::cli
