#include <sinew/core/file.h>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

TEST(AtomicFile, AppearsAtCommitOnly) {
  const test::TemporaryDirectory directory;
  {
    AtomicFile file(directory / "a.bin");
    file.write(std::string_view("hello"));
    EXPECT_FALSE(std::filesystem::exists(directory / "a.bin"));
    file.seek(1);
    file.write(std::string_view("E"));
    file.commit();
  }
  EXPECT_EQ(as_text(read_file(directory / "a.bin")), "hEllo");
  EXPECT_EQ(directory.files(), (std::vector<std::string>{"a.bin"}));
}

TEST(AtomicFile, LeavesNothingWithoutCommitAndKeepsTheOldFile) {
  const test::TemporaryDirectory directory;
  write_file(directory / "a.txt", "old");
  {
    AtomicFile file(directory / "a.txt");
    file.write(std::string_view("new"));
  }
  EXPECT_EQ(as_text(read_file(directory / "a.txt")), "old");
  EXPECT_EQ(directory.files().size(), 1u);
}

TEST(AtomicFile, SaysWhyItCannotWrite) {
  const test::TemporaryDirectory directory;
  EXPECT_THROW(AtomicFile(directory / "no/such/file"), Error);
  EXPECT_THROW(AtomicFile{directory.path()}, Error);
}

TEST(ReadFile, RefusesWhatIsNotAFile) {
  const test::TemporaryDirectory directory;
  EXPECT_THROW(read_file(directory / "missing"), Error);
  EXPECT_THROW(read_file(directory.path()), Error);
  write_file(directory / "big", "12345");
  EXPECT_THROW(read_file(directory / "big", 4), Error);
  EXPECT_EQ(read_file(directory / "big", 5).size(), 5u);
}

TEST(LowerCaseExtension, IsTheLastOne) {
  EXPECT_EQ(lower_case_extension("OUT.GLB"), ".glb");
  EXPECT_EQ(lower_case_extension("Some.Dir/a.b.WebP"), ".webp");
  EXPECT_EQ(lower_case_extension("Some.Dir/plain"), "");
  EXPECT_EQ(lower_case_extension(".GLB"), "") << "a hidden file without an extension";
}

}  // namespace
}  // namespace sinew
