#pragma once

#include <cstdint>
#include <span>

#include <sinew/tracking/probe.h>

namespace sinew {

/// A vertex, and the point at which it asks for the fields.
struct ProbeLane {
  std::uint32_t vertex;
  Vec3f at;
  bool anew;  ///< whether Asked::known_here asks which fields are there
};

/// Which of a block's fields a vertex asks (ProbeTables::present).
enum class Asked {
  known,       ///< those that are present
  known_here,  ///< lanes that ask anew: also those that are there, which are present from then on
  here,        ///< only those, and only they are present from then on
};

/// What a probe finds out.
enum class Finds {
  sides,    ///< leaves alone `apart` and `meets` of contacts, `pressed` and `off`
  pressure  ///< these, too
};

/// Probes of many vertices of one block at once, all fields joined by unions. Says the same as
/// ProbeTables::meet_fields(), which it follows step by step, up to rounding. `fields` are the block's,
/// ascending, at most 64.
void probe_lanes(const ProbeTables& tables, std::span<const std::uint16_t> fields, Asked asked, Finds finds,
                 std::span<const ProbeLane> lanes, std::span<SkinProbe> probes);

}  // namespace sinew
