#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace sinew {

/// Which joints move each vertex, and how much, in compact rows: vertex v has the influences starts[v] …
/// starts[v + 1] - 1. Joint numbers are those of the skin the mesh is bound to.
struct SkinWeights {
  std::vector<std::uint32_t> starts{0};
  std::vector<std::uint32_t> joints;
  std::vector<float> values;

  std::size_t rows() const { return starts.size() - 1; }
  std::size_t row_size(std::size_t v) const { return starts[v + 1] - starts[v]; }
  std::span<const std::uint32_t> row_joints(std::size_t v) const {
    return {joints.data() + starts[v], row_size(v)};
  }
  std::span<const float> row_values(std::size_t v) const { return {values.data() + starts[v], row_size(v)}; }
  bool operator==(const SkinWeights&) const = default;
};

/// Weights that nobody changes any more: copies of this share them.
class SharedWeights {
 public:
  SharedWeights() : SharedWeights(SkinWeights()) {}
  SharedWeights(SkinWeights weights) : weights_(std::make_shared<const SkinWeights>(std::move(weights))) {}

  const SkinWeights& operator*() const { return *weights_; }
  const SkinWeights* operator->() const { return weights_.get(); }

 private:
  std::shared_ptr<const SkinWeights> weights_;
};

struct Influence {
  std::uint32_t joint;
  float weight;
};

/// What clean_row had to mend.
struct WeightRepairs {
  std::size_t unweighted_vertices = 0;  ///< rows without a positive weight: left empty
  std::size_t negative_weights = 0;     ///< set to 0
  std::size_t rescaled_rows = 0;        ///< rows whose sum was off by more than 1 %
  std::size_t merged_duplicates = 0;    ///< the same joint twice on a vertex: added up
};

/// Of influences that are heaviest first, the `most` heaviest, made lighter by the heaviest that goes: so
/// that over a surface, where one joint takes the place of another, both weigh nothing. Where more than
/// `most` weigh more than half of the heaviest, that is so in part only.
std::span<Influence> cut_smoothly(std::span<Influence> row, std::size_t most);

/// Appends one row: duplicates added up, zeros and negatives dropped, heaviest first (equal weights by joint
/// number), cut to the `max_influences` heaviest (0 = all; see cut_smoothly()), scaled to sum 1. A row
/// without a positive weight becomes empty. `row` is used as scratch. Weights must be finite.
void append_row(SkinWeights& weights, std::span<Influence> row, std::size_t max_influences,
                WeightRepairs& repairs);

/// The weights cut to the `max_influences` heaviest of each row (0 = all) and renormalised.
SkinWeights limit_influences(const SkinWeights& weights, std::size_t max_influences);

}  // namespace sinew
