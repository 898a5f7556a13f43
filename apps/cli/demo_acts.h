#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace sinew::cli {

/// A clip that a character plays.
struct Played {
  const char* name;
  double still_share = 1;  ///< how far the stills go: one stride of a gait, all of other clips
  bool first = false;      ///< also played without --all
};

/// What is shown of a character.
struct Act {
  const char* model;
  std::size_t vertices;
  const char* view;
  std::vector<Played> clips;
  const char* close_up_clip;  ///< whose last frame is looked at closely …
  const char* close_up_joint;
  const char* close_up_view;
  const char* baked_clip;  ///< written as GLB, once per method
  const char* about;
};

std::span<const Act> demo_acts();

}  // namespace sinew::cli
