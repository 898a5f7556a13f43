#include <sinew/core/text.h>

#include <algorithm>
#include <vector>

namespace sinew {

std::string lower_case(std::string text) {
  for (char& c : text) c = lower_case(c);
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t most) {
  const std::size_t longer = std::max(a.size(), b.size()), shorter = std::min(a.size(), b.size());
  if (longer - shorter > most) return most + 1;
  // Rows of the table for i - 2, i - 1 and i bytes of `a`; columns for bytes of `b`.
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = i;
    std::size_t least = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      least = std::min(least, row[j]);
    }
    if (least > most) return most + 1;  // no later row has less
  }
  return std::min(row[b.size()], most + 1);
}

}  // namespace sinew
