#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <string_view>
#include <vector>

#include <sinew/implicit/operator_profile.h>

namespace sinew {

enum class OperatorKind {
  union_,   ///< the larger field (Ricci 1973); its crease is the contact. The one kind without a table
  blend,    ///< gradient_blend.h
  contact,  ///< contact_profile()
  bulge,    ///< bulge_profile()
  profile,  ///< a user's own profile
};

std::string_view name_of(OperatorKind kind);

/// All that determines a table.
struct OperatorTableSpec {
  static constexpr int kLeastNodes = 9, kMostNodes = 257;
  static constexpr int kLeastSlices = 2, kMostSlices = 257;

  OperatorKind kind = OperatorKind::contact;
  OperatorProfile profile = contact_profile();  ///< of `kind`; not used, and empty, for blends
  /// Per side of the unit square; odd, so that ½ is one of them.
  int nodes = 65;
  /// With (nodes + 1) / 2 slices contact ends at a node in each.
  int slices = 33;

  bool operator==(const OperatorTableSpec&) const = default;
};

/// The spec of a kind, with its own profile. Throws Error for unions, which have no table, and for profiles,
/// which have no default.
OperatorTableSpec table_spec(OperatorKind kind);
/// The spec of a user's own profile.
OperatorTableSpec table_spec(const OperatorProfile& profile);

/// Throws Error for node and slice counts out of range, unions, profiles that are invalid or not the kind's.
void validate(const OperatorTableSpec& spec);

/// What an operator makes of two fields' values.
struct OperatorValue {
  float value = 0;
  float d1 = 0, d2 = 0;  ///< partial derivatives by the two fields
};

/// An operator g(f1, f2) that a parameter d in [0, 1] picks from a family, tabulated over (f1, f2, d).
///
/// Table operators (contact, bulge, profiles; Vaillant 2015, §4.5.1): each slice d solves Δ²g = 0 on the
/// nodes with g(f, 0) = g(0, f) = f, g(f, 1) = g(1, f) = 1, zero normal derivatives on all four edges, and g
/// = ½ on the profile. The paper names no second condition on the edges f = 1; this one gives the more
/// monotone g. Contact ends one node before (1, 1), where ½ and 1 would collide. Differs: where a profile
/// runs between nodes the paper gives the nodes beside it ½ ± their distance to it. That prescribes a slope,
/// too: the slices do not tend to the straight one as d goes to 0, and slopes are negative outside the
/// surface down to -0.7. Here g is ½ where the profile crosses the grid's lines, linear between their nodes,
/// and slopes stay above -0.24. Differs: the slice d = 0, a clean union, obeys g >= max(f1, f2), too (the
/// plain solution is up to 0.015 less and has slopes down to -0.09; this one -0.01). With contact g has to be
/// less than max(f1, f2).
///
/// Blends (Vaillant et al. 2012, §4.2): g_m over d = θ / (π/4), so 1 is the union.
///
/// Nodes hold values and derivatives, both interpolated trilinearly, so derivatives are continuous; across
/// f1 = f2 they are as continuous as g itself: cells on the diagonal are two triangles, so that creases and
/// contact on it are sharp.
///
/// Immutable; share it between threads.
class OperatorTable {
 public:
  /// Value, derivatives by the larger and by the smaller field, 0.
  struct alignas(16) Node {
    std::array<float, 4> lanes{};
  };

  /// Builds the table, on the caller's oneTBB arena; same bits for any number of threads. Throws Error when
  /// the spec is invalid.
  explicit OperatorTable(const OperatorTableSpec& spec);
  /// From nodes() of a table of the same spec. Throws Error when the spec is invalid or the number of nodes
  /// is not its.
  OperatorTable(const OperatorTableSpec& spec, std::vector<Node> nodes);

  const OperatorTableSpec& spec() const { return spec_; }
  /// Of f1 >= f2 only; by larger field, then smaller field, then slice. Row i of the larger field holds the
  /// smaller field's nodes 0 to i + 1; the last makes cells on the diagonal linear.
  const std::vector<Node>& nodes() const { return nodes_; }
  static std::size_t node_count(const OperatorTableSpec& spec);
  /// At fields i and j of spec().nodes - 1, d = slice of spec().slices - 1.
  OperatorValue node(int i, int j, int slice) const;

  /// Inputs are clamped to [0, 1], NaN to 0. Exact where a field is 0: the other one. Exchanging the fields
  /// exchanges the derivatives and changes no bit. Neither throws nor allocates.
  OperatorValue evaluate(float f1, float f2, float d) const noexcept;

 private:
  static std::size_t row_start(std::size_t row) { return row * (row + 3) / 2; }

  OperatorTableSpec spec_;
  std::vector<Node> nodes_;
  // What evaluate() needs of the spec, as it needs it.
  float cells_ = 0, layers_ = 0;
  int last_cell_ = 0, last_layer_ = 0, slices_ = 0;
};

inline OperatorValue OperatorTable::evaluate(float f1, float f2, float d) const noexcept {
  const auto clamp_01 = [](float x) {  // NaN fails the first comparison
    const float positive = x > 0 ? x : 0.0f;
    return positive < 1 ? positive : 1.0f;
  };
  f1 = clamp_01(f1);
  f2 = clamp_01(f2);
  if (f2 == 0) return {f1, 1, 0};
  if (f1 == 0) return {f2, 0, 1};
  const bool first = f1 >= f2;
  const float x = std::max(f1, f2) * cells_, y = std::min(f1, f2) * cells_, z = clamp_01(d) * layers_;
  const auto cell = [](float at, int last) {
    const int below = static_cast<int>(at);
    return below < last ? below : last;
  };
  const int row = cell(x, last_cell_), column = cell(y, last_cell_), layer = cell(z, last_layer_);
  const float u = x - static_cast<float>(row), v = y - static_cast<float>(column);
  const float w = z - static_cast<float>(layer);

  const Node* low = nodes_.data() + (row * (row + 3) / 2 + column) * slices_ + layer;
  const Node* high = low + (row + 2) * slices_;
  const Node* low_next = low + slices_;
  const Node* high_next = high + slices_;
  // Eigen's arrays are four lanes wide at any optimisation and on any processor.
  using Lanes = Eigen::Map<const Eigen::Array4f, Eigen::Aligned16>;
  const auto between_slices = [w](const Node* node) -> Eigen::Array4f {
    const Lanes here(node[0].lanes.data()), above(node[1].lanes.data());
    return here + w * (above - here);
  };
  const Eigen::Array4f low_0 = between_slices(low), low_1 = between_slices(low_next);
  const Eigen::Array4f high_0 = between_slices(high), high_1 = between_slices(high_next);
  const Eigen::Array4f at_low = low_0 + v * (low_1 - low_0), at_high = high_0 + v * (high_1 - high_0);
  const Eigen::Array4f result = at_low + u * (at_high - at_low);
  return {result[0], first ? result[1] : result[2], first ? result[2] : result[1]};
}

}  // namespace sinew
