#include <sinew/geometry/one_rings.h>

#include <algorithm>

#include <sinew/core/index.h>
#include <sinew/core/parallel.h>
#include <sinew/geometry/incidence.h>

namespace sinew {

namespace {

// One triangle at a vertex: counter-clockwise, `to` follows `from`.
struct Wedge {
  std::uint32_t from, to;
  bool operator==(const Wedge&) const = default;
  bool operator<(const Wedge& other) const { return from != other.from ? from < other.from : to < other.to; }
};

// Scratch of one thread.
struct RingBuilder {
  std::vector<Wedge> wedges;
  std::vector<std::uint32_t> ends;  // all `to`, ascending

  // Writes the ring to `out`, which has room for two entries per corner, and its length to `count`.
  RingKind build(std::span<const std::uint32_t> corners, std::span<const Triangle> triangles,
                 std::uint32_t* out, std::uint32_t& count) {
    wedges.clear();
    for (const std::uint32_t corner : corners) {
      const Triangle& f = triangles[corner / 3];
      const std::uint32_t k = corner % 3;
      if (f[0] != f[1] && f[1] != f[2] && f[2] != f[0]) wedges.push_back({f[(k + 1) % 3], f[(k + 2) % 3]});
    }
    count = 0;
    if (wedges.empty()) return RingKind::isolated;
    std::sort(wedges.begin(), wedges.end());
    wedges.erase(std::unique(wedges.begin(), wedges.end()), wedges.end());
    ends.clear();
    for (const Wedge& wedge : wedges) ends.push_back(wedge.to);
    std::sort(ends.begin(), ends.end());
    const bool branches =
        std::adjacent_find(wedges.begin(), wedges.end(),
                           [](const Wedge& a, const Wedge& b) { return a.from == b.from; }) != wedges.end() ||
        std::adjacent_find(ends.begin(), ends.end()) != ends.end();
    if (!branches) {
      // Without branches the wedges form paths and cycles; a single one is what we want. The path's start is
      // the `from` that is nobody's `to`.
      std::uint32_t start = wedges.front().from;
      bool open = false;
      for (std::size_t i = 0, j = 0; i < wedges.size(); ++i) {
        while (j < ends.size() && ends[j] < wedges[i].from) ++j;
        if (j == ends.size() || ends[j] != wedges[i].from) {
          start = wedges[i].from;
          open = true;
          break;
        }
      }
      out[count++] = start;
      for (std::uint32_t v = next(start); v != kNoIndex && v != start; v = next(v)) out[count++] = v;
      if (count == wedges.size() + (open ? 1 : 0)) return open ? RingKind::open : RingKind::closed;
      count = 0;
    }
    for (const Wedge& wedge : wedges) {
      out[count++] = wedge.from;
      out[count++] = wedge.to;
    }
    std::sort(out, out + count);
    count = static_cast<std::uint32_t>(std::unique(out, out + count) - out);
    return RingKind::irregular;
  }

 private:
  std::uint32_t next(std::uint32_t v) const {
    const auto place =
        std::lower_bound(wedges.begin(), wedges.end(), v,
                         [](const Wedge& wedge, std::uint32_t from) { return wedge.from < from; });
    return place != wedges.end() && place->from == v ? place->to : kNoIndex;
  }
};

}  // namespace

OneRings one_rings(std::size_t vertex_count, std::span<const Triangle> triangles) {
  const Incidence incidence = vertex_incidence(vertex_count, triangles);
  OneRings rings;
  rings.kinds.resize(vertex_count);
  rings.starts.assign(vertex_count + 1, 0);
  // Rings are built where there is room for the worst one, then moved together.
  std::vector<std::uint32_t> roomy(2 * incidence.corners.size());
  constexpr std::size_t kVerticesPerRingTask = 4096;
  parallel_blocks(vertex_count, kVerticesPerRingTask, [&](std::size_t begin, std::size_t end) {
    RingBuilder builder;
    for (std::size_t v = begin; v < end; ++v)
      rings.kinds[v] = builder.build(
          incidence[v], triangles, roomy.data() + 2 * std::size_t{incidence.starts[v]}, rings.starts[v + 1]);
  });
  for (std::size_t v = 0; v < vertex_count; ++v) rings.starts[v + 1] += rings.starts[v];
  rings.neighbours.resize(rings.starts.back());
  parallel_blocks(vertex_count, kVerticesPerRingTask, [&](std::size_t begin, std::size_t end) {
    for (std::size_t v = begin; v < end; ++v)
      std::copy_n(roomy.data() + 2 * std::size_t{incidence.starts[v]}, rings.starts[v + 1] - rings.starts[v],
                  rings.neighbours.data() + rings.starts[v]);
  });
  return rings;
}

}  // namespace sinew
