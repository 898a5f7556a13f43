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

class MissingFile : public ::testing::Test {
 protected:
  /// What is said of a missing file, without the directory's path.
  std::string message_of(const std::string& name) const {
    static constexpr std::string_view kExtensions[] = {".glb", ".obj"};
    try {
      require_file(directory_ / name, kExtensions);
    } catch (const Error& error) {
      std::string message = error.what();
      const std::string directory = directory_.path().string() + "/";
      for (std::size_t at; (at = message.find(directory)) != std::string::npos;)
        message.erase(at, directory.size());
      return message;
    }
    return "";
  }
  void make(const std::string& name) const { write_file(directory_ / name, ""); }

  test::TemporaryDirectory directory_;
};

TEST_F(MissingFile, ProposesTheNearest) {
  for (const char* name : {"human.glb", "hand.glb", "hands.obj", "Body.OBJ", "notes.txt", "x.glb"})
    make(name);
  std::filesystem::create_directory(directory_ / "horse.glb");
  EXPECT_EQ(message_of("human.glb"), "");
  EXPECT_EQ(message_of("humn.glb"), "humn.glb: no such file; did you mean human.glb?");
  EXPECT_EQ(message_of("HUMAN.GLB"), "HUMAN.GLB: no such file; did you mean human.glb?");
  EXPECT_EQ(message_of("body.obj"), "body.obj: no such file; did you mean Body.OBJ?");
  EXPECT_EQ(message_of("human.gltf"), "human.gltf: no such file; did you mean human.glb?")
      << "another extension";
  EXPECT_EQ(message_of("human"), "human: no such file; did you mean human.glb?");
  EXPECT_EQ(message_of("hads.obj"), "hads.obj: no such file; did you mean hands.obj?")
     ;
  EXPECT_EQ(message_of("nothing.glb"), "nothing.glb: no such file");
  EXPECT_EQ(message_of("note.txt"), "note.txt: no such file") << "nobody reads .txt";
  EXPECT_EQ(message_of("hrse.glb"), "hrse.glb: no such file") << "a directory is no file";
  EXPECT_EQ(message_of("y.glb"), "y.glb: no such file") << "all of a name is too much";
}

TEST_F(MissingFile, SaysThatTheDirectoryIsMissing) {
  EXPECT_EQ(message_of("no/such.glb"),
            "no/such.glb: no such file: the directory '" + std::string("no' does not exist"));
  make("file");
  EXPECT_EQ(message_of("file/such.glb"), "file/such.glb: no such file: the directory 'file' does not exist");
}

TEST_F(MissingFile, StaysOneLineAndSoonDone) {
  make("hu\nan.glb");
  EXPECT_EQ(message_of("hunan.glb"), "hunan.glb: no such file; did you mean hu an.glb?");
  for (int i = 0; i < 5000; ++i) make(std::string(200, 'a') + std::to_string(i) + ".glb");
  EXPECT_NE(message_of(std::string(200, 'a') + "b.glb").find("did you mean"), std::string::npos);
}

TEST_F(MissingFile, ReadingProposesTheSameExtension) {
  make("recipe.json");
  make("recipes.glb");
  try {
    read_file(directory_ / "recipes.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("recipe.json?"), std::string::npos) << error.what();
  }
}

TEST(LowerCaseExtension, IsTheLastOne) {
  EXPECT_EQ(lower_case_extension("OUT.GLB"), ".glb");
  EXPECT_EQ(lower_case_extension("Some.Dir/a.b.WebP"), ".webp");
  EXPECT_EQ(lower_case_extension("Some.Dir/plain"), "");
  EXPECT_EQ(lower_case_extension(".GLB"), "") << "a hidden file without an extension";
}

}  // namespace
}  // namespace sinew
