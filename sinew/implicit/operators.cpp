#include <sinew/implicit/operators.h>

#include <numbers>
#include <utility>

#include <tbb/task_arena.h>

#include <sinew/core/error.h>
#include <sinew/implicit/operator_cache.h>

namespace sinew {

Operator::Operator(std::shared_ptr<const OperatorTable> table, const ResponseCurve& curve)
    : table_(std::move(table)) {
  if (!table_) throw Error("operator: no table");
  const bool blends = kind() == OperatorKind::blend;
  validate(curve, blends ? ResponseQuantity::angle : ResponseQuantity::depth);
  const double unit = blends ? std::numbers::pi / 4 : 1;
  union_depth_ = blends ? 1 : 0;
  for (std::size_t i = 0; i <= kResponseIntervals; ++i) {
    const double cosine = 2 * static_cast<double>(i) / kResponseIntervals - 1;
    response_[i] = static_cast<float>(curve.evaluate(std::acos(cosine)) / unit);
  }
}

OperatorLibrary::OperatorLibrary(int nodes, int slices) : nodes_(nodes), slices_(slices) {
  validate(sized(table_spec(OperatorKind::contact)));
}

OperatorTableSpec OperatorLibrary::sized(OperatorTableSpec spec) const {
  spec.nodes = nodes_;
  spec.slices = slices_;
  return spec;
}

std::shared_ptr<const OperatorTable> OperatorLibrary::table_of(const OperatorTableSpec& spec) {
  validate(spec);
  const std::string key = content_key(spec);
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const OperatorTable> table = tables_.contains(key) ? tables_[key] : nullptr;
  // While this thread waits for the slices it must not take up others' tasks: they may ask for a table, too,
  // and would wait for the lock that this thread holds.
  if (!table) {
    tbb::this_task_arena::isolate([&] { table = std::make_shared<const OperatorTable>(spec); });
    tables_[key] = table;
  }
  return table;
}

std::shared_ptr<const OperatorTable> OperatorLibrary::table(OperatorKind kind) {
  return table_of(sized(table_spec(kind)));
}

std::shared_ptr<const OperatorTable> OperatorLibrary::table(const OperatorProfile& profile) {
  return table_of(sized(table_spec(profile)));
}

Operator OperatorLibrary::make(OperatorKind kind, const ResponseCurve& curve) {
  return kind == OperatorKind::union_ ? Operator() : Operator(table(kind), curve);
}

Operator OperatorLibrary::make(const OperatorProfile& profile, const ResponseCurve& curve) {
  return Operator(table(profile), curve);
}

std::string OperatorLibrary::key(OperatorKind kind) const {
  return content_key(sized(table_spec(kind)));
}

std::string OperatorLibrary::key(const OperatorProfile& profile) const {
  return content_key(sized(table_spec(profile)));
}

bool OperatorLibrary::adopt(std::span<const std::byte> bytes) {
  auto table = std::make_shared<const OperatorTable>(from_bytes(bytes));
  if (table->spec().nodes != nodes_ || table->spec().slices != slices_) return false;
  const std::lock_guard lock(mutex_);
  return tables_.emplace(content_key(table->spec()), std::move(table)).second;
}

std::vector<std::shared_ptr<const OperatorTable>> OperatorLibrary::tables() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const OperatorTable>> result;
  for (const auto& entry : tables_) result.push_back(entry.second);
  return result;
}

OperatorLibrary& shared_operators() {
  static OperatorLibrary library;
  return library;
}

}  // namespace sinew
