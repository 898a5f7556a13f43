#pragma once

#include <ostream>
#include <vector>

#include <sinew/fitting/ids.h>

namespace sinew {

template <class Tag>
void PrintTo(const Index<Tag>& id, std::ostream* out) {
  *out << id.value();
}

namespace test {

/// Indices as plain numbers, -1 for kNone, which are shorter to write down and to compare.
template <class Indices>
std::vector<int> numbers(const Indices& indices) {
  std::vector<int> result;
  for (const auto id : indices) result.push_back(id.value());
  return result;
}

inline NodeMap node_map(const std::vector<int>& numbers) {
  NodeMap map;
  for (const int number : numbers) map.push_back(NodeId(number));
  return map;
}

}  // namespace test
}  // namespace sinew
