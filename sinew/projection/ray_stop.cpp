#include <sinew/projection/ray_stop.h>

#include <algorithm>

namespace sinew {

float soft_first_crossing(std::span<const OverlapRun> runs, int samples, float width, float fade) {
  float left = 1, stop = 0, t = 0;
  for (const OverlapRun& run : runs) {
    stop += left * (run.from - t);
    const float piece = (run.to - run.from) / static_cast<float>(samples);
    for (int i = 0; i < samples && left > 0; ++i) {
      const float rate = std::clamp(0.5f - run.side[i] / width, 0.0f, 1.0f) / fade;
      const float fallen = left - rate * piece;
      if (fallen >= 0)
        stop += (left + fallen) / 2 * piece;
      else
        stop += left * left / (2 * rate);
      left = std::max(fallen, 0.0f);
    }
    t = run.to;
  }
  return stop + left * (1 - t);
}

float stop_on_ray(std::span<const OverlapRun> runs, int samples, float width, float fade, float reach) {
  float stop = 1, outer = 1;  // where it stops by the runs beyond the one at hand: by none of them
  for (std::size_t k = runs.size(); k-- > 0;) {
    const float with = soft_first_crossing(runs.subspan(k), samples, width, fade);
    const float beyond = 1 - runs[k].to;
    const float counts = beyond <= 0 ? 1.0f : std::clamp(1 - beyond / reach, 0.0f, 1.0f);
    stop += counts * (with - outer);
    outer = with;
  }
  return std::clamp(stop, 0.0f, 1.0f);
}

}  // namespace sinew
