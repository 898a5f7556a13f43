#pragma once

#include <cstdint>
#include <span>

#include <sinew/tracking/probe.h>

namespace sinew {

/// A vertex, and the point at which it asks for the fields.
struct ProbeLane {
  std::uint32_t vertex = 0;
  Vec3f at = Vec3f::Zero();
};

/// Which of a block's fields a vertex asks (ProbeTables::present).
enum class Asked {
  known,       ///< those that are present
  known_here,  ///< also those that are where it asks, which are present from then on
  here,        ///< only those, and only they are present from then on
};

/// Probes of many vertices of one block at once, all fields joined by unions. Says the same as
/// SkinTracker::Frame::probe(), which it follows step by step, up to rounding; but of contacts it finds what
/// history-free tracking asks only: `apart`, `meets`, `pressed` and `off` stay as they are. `fields` are the
/// block's, ascending, at most 64.
void probe_lanes(const ProbeTables& tables, std::span<const std::uint16_t> fields, Asked asked,
                 std::span<const ProbeLane> lanes, std::span<SkinProbe> probes);

}  // namespace sinew
