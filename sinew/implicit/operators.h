#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <sinew/core/index.h>
#include <sinew/implicit/field_sample.h>
#include <sinew/implicit/operator_table.h>
#include <sinew/implicit/response_curve.h>

namespace sinew {

/// Joins two fields: the angle α between their gradients picks, through a response curve, the depth d
/// (blends: the angle θ) of a table. A default one is a union. Cheap to copy; immutable; share it between
/// threads.
class Operator {
 public:
  /// Intervals of the response over cos α, linear between its nodes: off by less than 0.002 for presets.
  static constexpr std::size_t kResponseIntervals = 512;

  Operator() = default;
  /// Throws Error when the table is missing or the curve is invalid for the table's kind.
  Operator(std::shared_ptr<const OperatorTable> table, const ResponseCurve& curve);

  OperatorKind kind() const { return table_ ? table_->spec().kind : OperatorKind::union_; }
  /// Null for unions.
  const std::shared_ptr<const OperatorTable>& table() const { return table_; }

  /// The table's d for two gradients. That of a union (0; blends: 1) where one is so short that they have no
  /// angle: there its field is 0 or at its peak.
  float depth(const Vec3f& gradient_a, const Vec3f& gradient_b) const noexcept;

 private:
  friend FieldSample combine(const Operator& operation, const FieldSample& a, const FieldSample& b) noexcept;

  std::shared_ptr<const OperatorTable> table_;
  float union_depth_ = 0;
  std::array<float, kResponseIntervals + 1> response_{};  // d at cos α = -1 to 1
};

inline float Operator::depth(const Vec3f& gradient_a, const Vec3f& gradient_b) const noexcept {
  const float squares = gradient_a.squaredNorm() * gradient_b.squaredNorm();
  // False for NaN, too.
  if (!(squares >= std::numeric_limits<float>::min() && squares <= std::numeric_limits<float>::max()))
    return union_depth_;
  constexpr auto kIntervals = static_cast<float>(kResponseIntervals);
  const float at = (gradient_a.dot(gradient_b) / std::sqrt(squares) + 1) * (kIntervals / 2);
  const float inside = at > 0 ? (at < kIntervals ? at : kIntervals) : 0.0f;
  const auto below = std::min(to_size(inside), kResponseIntervals - 1);
  const float share = inside - static_cast<float>(below);
  return response_[below] + share * (response_[below + 1] - response_[below]);
}

/// The two fields joined. Where one is 0 it is the other one; a union is the larger (of equal ones the
/// first). The gradient is the chain rule's g1 ∇a + g2 ∇b, without the term of ∇α, as in the papers. Values
/// beyond [0, 1] are clamped, NaN counts as 0. Neither throws nor allocates.
inline FieldSample combine(const Operator& operation, const FieldSample& a, const FieldSample& b) noexcept {
  if (!(a.value > 0)) return b.value > 0 ? b : FieldSample();
  if (!(b.value > 0)) return a;
  if (!operation.table_) return b.value > a.value ? b : a;
  const OperatorValue g =
      operation.table_->evaluate(a.value, b.value, operation.depth(a.gradient, b.gradient));
  return {g.value, g.d1 * a.gradient + g.d2 * b.gradient};
}

/// Operators with shared tables: each table is built when it is first asked for, once. Safe to use from many
/// threads.
class OperatorLibrary {
 public:
  /// Tables have that many nodes and slices. Throws Error when validate() rejects them.
  explicit OperatorLibrary(int nodes = OperatorTableSpec{}.nodes, int slices = OperatorTableSpec{}.slices);
  OperatorLibrary(const OperatorLibrary&) = delete;
  OperatorLibrary& operator=(const OperatorLibrary&) = delete;

  /// A union ignores the curve. Throws Error for profiles, which need one, and for curves that validate()
  /// rejects.
  Operator make(OperatorKind kind, const ResponseCurve& curve);
  /// With a profile of the user's own. Throws Error for profiles and curves that validate() rejects.
  Operator make(const OperatorProfile& profile, const ResponseCurve& curve);

  /// The table of a kind or of a profile, built unless there is one already.
  std::shared_ptr<const OperatorTable> table(OperatorKind kind);
  std::shared_ptr<const OperatorTable> table(const OperatorProfile& profile);

  /// content_key() of the table of a kind or of a profile: the name to save it under.
  std::string key(OperatorKind kind) const;
  std::string key(const OperatorProfile& profile) const;
  /// Takes a table that to_bytes() saved, instead of building it. Returns false, and changes nothing, when it
  /// has other numbers of nodes or slices than this library, or is there already. Throws Error for bytes that
  /// from_bytes() rejects.
  bool adopt(std::span<const std::byte> bytes);
  /// All tables there are so far: to save them.
  std::vector<std::shared_ptr<const OperatorTable>> tables();

 private:
  OperatorTableSpec sized(OperatorTableSpec spec) const;
  std::shared_ptr<const OperatorTable> table_of(const OperatorTableSpec& spec);

  int nodes_, slices_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const OperatorTable>> tables_;  // by content_key()
};

/// The library that characters take their operators from: tables are the same for all of them. Made when
/// first asked for, and never changed but by more tables.
OperatorLibrary& shared_operators();

}  // namespace sinew
