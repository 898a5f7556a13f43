// The README shows real code: its C++ block must be examples/deform.cpp's heart, line by line.
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include <sinew/core/file.h>

namespace sinew {
namespace {

std::string trimmed(const std::string& line) {
  const std::size_t first = line.find_first_not_of(' ');
  return first == std::string::npos ? "" : line.substr(first);
}

std::string flattened(const std::string& text) {
  std::istringstream stream(text);
  std::string result;
  for (std::string line; std::getline(stream, line);) result += trimmed(line) + "\n";
  return result;
}

TEST(Readme, SnippetIsTheExample) {
  const std::filesystem::path root = SINEW_SOURCE_DIR;
  const std::string readme(as_text(read_file(root / "README.md")));
  const std::string example = flattened(std::string(as_text(read_file(root / "examples/deform.cpp"))));
  const std::size_t begin = readme.find("```cpp\n");
  ASSERT_NE(begin, std::string::npos);
  const std::size_t end = readme.find("```", begin + 7);
  const std::string snippet = flattened(readme.substr(begin + 7, end - begin - 7));
  EXPECT_NE(example.find(snippet), std::string::npos) << snippet;
}

}  // namespace
}  // namespace sinew
