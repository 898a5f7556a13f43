#pragma once

#include <string>

#include "apps/cli/json.h"

/// What a bench says about the machine that it ran on.
namespace sinew::cli {

std::string processor_name();

/// Version, processor, instruction set and compiler.
Json machine();

/// Seconds of processor time, summed over all cores since some time long ago.
struct ProcessorTime {
  double ours = 0;
  double everyones = 0;  ///< ours included
  double idle = 0;

  static ProcessorTime now();
};

/// Which share of the machine others took since `start`, 0 to 1: how far the times can be trusted.
double share_of_others(const ProcessorTime& start);

}  // namespace sinew::cli
