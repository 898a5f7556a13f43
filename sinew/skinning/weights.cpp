#include <sinew/skinning/weights.h>

#include <algorithm>
#include <cassert>
#include <cmath>

namespace sinew {

std::span<Influence> cut_smoothly(std::span<Influence> row, std::size_t most) {
  if (row.empty() || most == 0) return row.first(0);
  constexpr float kMostShare = 0.5f;  // where many joints weigh alike, a joint must not lose all it has
  if (row.size() <= most) return row;
  const float floor = std::min(row[most].weight, kMostShare * row[0].weight);
  row = row.first(most);
  std::size_t kept = 0;
  while (kept < row.size() && row[kept].weight > floor) row[kept++].weight -= floor;
  return row.first(kept);
}

void append_row(SkinWeights& weights, std::span<Influence> row, std::size_t max_influences,
                WeightRepairs& repairs) {
  std::sort(row.begin(), row.end(), [](const Influence& a, const Influence& b) { return a.joint < b.joint; });
  std::size_t kept = 0;
  for (const Influence& influence : row) {
    assert(std::isfinite(influence.weight));
    if (influence.weight < 0) ++repairs.negative_weights;
    if (!(influence.weight > 0)) continue;
    if (kept > 0 && row[kept - 1].joint == influence.joint) {
      row[kept - 1].weight += influence.weight;
      ++repairs.merged_duplicates;
    } else {
      row[kept++] = influence;
    }
  }
  row = row.first(kept);
  std::sort(row.begin(), row.end(), [](const Influence& a, const Influence& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.joint < b.joint;
  });
  double sum = 0;
  for (const Influence& influence : row) sum += influence.weight;
  if (max_influences > 0 && row.size() > max_influences) {
    const double cut = sum;
    row = cut_smoothly(row, max_influences);
    sum = 0;
    for (const Influence& influence : row) sum += influence.weight;
    if (std::abs(cut - 1) > 0.01) ++repairs.rescaled_rows;
  } else if (!row.empty() && std::abs(sum - 1) > 0.01) {
    ++repairs.rescaled_rows;
  }
  if (row.empty()) ++repairs.unweighted_vertices;
  for (const Influence& influence : row) {
    weights.joints.push_back(influence.joint);
    weights.values.push_back(static_cast<float>(influence.weight / sum));
  }
  weights.starts.push_back(static_cast<std::uint32_t>(weights.joints.size()));
}

SkinWeights limit_influences(const SkinWeights& weights, std::size_t max_influences) {
  SkinWeights result;
  WeightRepairs repairs;
  std::vector<Influence> row;
  for (std::size_t v = 0; v < weights.rows(); ++v) {
    row.clear();
    for (std::uint32_t i = weights.starts[v]; i < weights.starts[v + 1]; ++i)
      row.push_back({weights.joints[i], weights.values[i]});
    append_row(result, row, max_influences, repairs);
  }
  return result;
}

}  // namespace sinew
