#include <sinew/core/text.h>

namespace sinew {

std::string lower_case(std::string text) {
  for (char& c : text) c = lower_case(c);
  return text;
}

}  // namespace sinew
