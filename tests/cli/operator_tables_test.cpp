// Where the program keeps its operator tables. Its own source is part of this test: the program is run by the
// tests, not linked with them.
#include "apps/cli/operator_tables.cpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include <sinew/core/file.h>

#include "tests/support/cli_fixture.h"
#include "tests/support/temporary_directory.h"

namespace sinew {
namespace {

namespace fs = std::filesystem;

using cli::operator_table_directory;
using cli::OperatorTableCache;
using test::TemporaryDirectory;

/// All tests of this program, of whatever file, run sinew away from the user's own cache.
class CacheElsewhere : public ::testing::Environment {
 public:
  void SetUp() override {
    directory_.emplace();
    ::setenv("XDG_CACHE_HOME", directory_->path().c_str(), 1);
  }
  void TearDown() override { directory_.reset(); }

 private:
  std::optional<TemporaryDirectory> directory_;
};

const ::testing::Environment* const kCacheElsewhere =
    ::testing::AddGlobalTestEnvironment(new CacheElsewhere);  // which takes it over

/// Sets a variable of the environment, or takes it away, for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { set(before_); }

 private:
  void set(const std::optional<std::string>& value) const {
    if (value)
      ::setenv(name_, value->c_str(), 1);
    else
      ::unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// Small tables, soon built.
struct SmallLibrary : OperatorLibrary {
  SmallLibrary() : OperatorLibrary(9, 2) {}
};

class OperatorTables : public ::testing::Test {
 protected:
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  /// As a run that needs the table of a kind.
  void run(OperatorKind kind) const {
    SmallLibrary library;
    OperatorTableCache cache(library, directory_.path());
    cache.load();
    library.table(kind);
    cache.save();
  }
  fs::path file_of(OperatorKind kind) const { return directory_ / (SmallLibrary().key(kind) + ".table"); }
  /// Tables that a run finds there.
  std::size_t found() const {
    SmallLibrary library;
    OperatorTableCache(library, directory_.path()).load();
    return library.tables().size();
  }
  std::string content(const fs::path& path) const { return std::string(as_text(read_file(path))); }

  TemporaryDirectory directory_;
};

TEST_F(OperatorTables, TheNextRunTakesThemUp) {
  const fs::path deep = directory_.path() / "not" / "there";
  SmallLibrary first;
  first.table(OperatorKind::contact);
  first.table(OperatorKind::blend);
  OperatorTableCache(first, deep).save();
  SmallLibrary second;
  OperatorTableCache(second, deep).load();
  const auto before = first.tables(), after = second.tables();
  ASSERT_EQ(after.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after[i]->spec(), before[i]->spec());
    EXPECT_TRUE(to_bytes(*after[i]) == to_bytes(*before[i]));
  }
  // It is the library's own now, not built once more.
  EXPECT_TRUE(second.table(OperatorKind::contact) == after[0] ||
              second.table(OperatorKind::contact) == after[1]);
  EXPECT_EQ(fs::status(deep).permissions(), fs::perms::owner_all);
}

TEST_F(OperatorTables, NothingIsMadeForNothing) {
  const fs::path none = directory_.path() / "none";
  SmallLibrary library;
  OperatorTableCache cache(library, none);
  cache.load();
  cache.save();
  EXPECT_FALSE(fs::exists(none));
  OperatorTableCache nowhere(library, "");
  library.table(OperatorKind::contact);
  nowhere.load();
  nowhere.save();
  EXPECT_FALSE(fs::exists(SmallLibrary().key(OperatorKind::contact) + ".table"));
}

TEST_F(OperatorTables, WhatIsThereIsNotWrittenAgain) {
  run(OperatorKind::contact);
  SmallLibrary library;
  OperatorTableCache cache(library, directory_.path());
  cache.load();
  write_file(file_of(OperatorKind::contact), "mark");
  library.table(OperatorKind::blend);
  cache.save();
  EXPECT_EQ(content(file_of(OperatorKind::contact)), "mark");
  write_file(file_of(OperatorKind::blend), "mark");
  cache.save();
  EXPECT_EQ(content(file_of(OperatorKind::blend)), "mark");
}

TEST_F(OperatorTables, DamagedFilesAreReplaced) {
  run(OperatorKind::contact);
  const std::string good = content(file_of(OperatorKind::contact));
  run(OperatorKind::blend);
  const std::string other = content(file_of(OperatorKind::blend));
  fs::remove(file_of(OperatorKind::blend));
  OperatorLibrary large(11, 2);
  const std::string larger(as_text(to_bytes(*large.table(OperatorKind::contact))));
  std::string flipped = good;
  flipped[good.size() / 2] = static_cast<char>(flipped[good.size() / 2] ^ 4);
  for (const std::string& damaged : {std::string(), std::string("x"), good.substr(0, 8), good.substr(0, 60),
                                     good.substr(0, good.size() - 1), good + "x", flipped, other, larger}) {
    write_file(file_of(OperatorKind::contact), damaged);
    EXPECT_EQ(found(), 0u) << damaged.size();
    run(OperatorKind::contact);
    EXPECT_TRUE(content(file_of(OperatorKind::contact)) == good) << damaged.size();
    EXPECT_EQ(files().size(), 1u);
  }
}

TEST_F(OperatorTables, FilesThatAreTooLargeAreNotRead) {
  run(OperatorKind::contact);
  fs::resize_file(file_of(OperatorKind::contact), std::uintmax_t{1} << 40);  // a hole
  EXPECT_EQ(found(), 0u);
}

TEST_F(OperatorTables, OtherThingsInTheWay) {
  const fs::path in_the_way = file_of(OperatorKind::contact);
  fs::create_directories(in_the_way / "full");
  run(OperatorKind::contact);
  run(OperatorKind::blend);
  EXPECT_TRUE(fs::is_directory(in_the_way / "full"));
  EXPECT_EQ(files().size(), 2u);
  EXPECT_EQ(found(), 1u);
  fs::remove_all(in_the_way);
  fs::create_symlink(directory_.path() / "nothing", in_the_way);
  EXPECT_EQ(found(), 1u);
  run(OperatorKind::contact);
  EXPECT_EQ(found(), 2u);
}

TEST_F(OperatorTables, NoDirectoryToBeHad) {
  write_file(directory_ / "file", "");
  fs::create_directory(directory_ / "locked");
  fs::permissions(directory_ / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  for (const fs::path& place : {directory_ / "file", directory_ / "file" / "under", directory_ / "locked",
                                fs::path("/dev/null/sinew"), fs::path("/proc/sinew")}) {
    SmallLibrary library;
    OperatorTableCache cache(library, place);
    cache.load();
    library.table(OperatorKind::contact);
    cache.save();
    library.table(OperatorKind::blend);
    cache.save();
    if (::geteuid() != 0) {  // root may write anywhere
      EXPECT_FALSE(fs::exists(place / (library.key(OperatorKind::contact) + ".table"))) << place;
    }
  }
  EXPECT_TRUE(fs::is_regular_file(directory_ / "file"));
}

TEST_F(OperatorTables, AFewFilesStay) {
  const auto now = fs::file_time_type::clock::now();
  const auto put = [&](const std::string& name, int hours) {
    write_file(directory_ / name, "old");
    fs::last_write_time(directory_ / name, now - std::chrono::hours(hours));
  };
  for (int i = 0; i < 20; ++i) put("old-" + std::to_string(100 + i) + ".table", 100 - i);
  put("notes.txt", 1000);
  put("a.table.1-2.part", 2);
  put("b.table.3-4.part", 0);
  run(OperatorKind::contact);
  std::vector<std::string> expected{"b.table.3-4.part", "notes.txt",
                                    file_of(OperatorKind::contact).filename().string()};
  for (int i = 20 - static_cast<int>(OperatorTableCache::kMostFiles) + 1; i < 20; ++i)
    expected.push_back("old-" + std::to_string(100 + i) + ".table");
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(files(), expected);
}

TEST_F(OperatorTables, TheDirectoryIsTheUsers) {
  const std::string cache = (directory_ / "cache").string(), home = directory_.path().string();
  const Variable on("SINEW_CACHE", std::nullopt), at_home("HOME", home);
  {
    const Variable xdg("XDG_CACHE_HOME", cache);
    EXPECT_EQ(operator_table_directory(), fs::path(cache) / "sinew");
    const Variable off("SINEW_CACHE", "off");
    EXPECT_EQ(operator_table_directory(), "");
  }
  for (const std::optional<std::string>& unusable :
       {std::optional<std::string>(), std::optional<std::string>(""),
        std::optional<std::string>("relative")}) {
    const Variable xdg("XDG_CACHE_HOME", unusable);
    EXPECT_EQ(operator_table_directory(), fs::path(home) / ".cache" / "sinew");
    for (const std::optional<std::string>& homeless :
         {unusable, std::optional<std::string>(home + "nowhere")}) {
      const Variable nowhere("HOME", homeless);
      EXPECT_EQ(operator_table_directory(), "");
    }
  }
}

class OperatorTablesCli : public test::CliFixture {
 protected:
  std::vector<std::string> kept() const {
    std::vector<std::string> names;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(directory_ / "cache" / "sinew", none))
      names.push_back(entry.path().filename().string());
    return names;
  }
  void render(const std::string& options, const std::string& name) {
    expect_success("render model:tube@600 --clip none --pose upper=0,0,100 --quality draft --size 32x32 " +
                   options + " -o " + path(name));
  }

  Variable cache_{"XDG_CACHE_HOME", path("cache")};
  Variable on_{"SINEW_CACHE", std::nullopt};
};

TEST_F(OperatorTablesCli, RunsLeaveTheTablesTheyNeeded) {
  const fs::path recipe = directory_ / "contact.json";
  write_file(recipe, R"({"layers": ["dqs", {"method": "implicit", "operator": "contact"}]})");
  const std::string contact = "--recipe " + recipe.string();
  render("--skin dqs", "dqs.png");
  render("--skin implicit", "union.png");  // unions need no tables
  EXPECT_FALSE(fs::exists(directory_ / "cache"));
  {
    const Variable off("SINEW_CACHE", "off");
    render(contact, "off.png");
    EXPECT_FALSE(fs::exists(directory_ / "cache"));
  }
  render(contact, "first.png");
  ASSERT_EQ(kept().size(), 1u);
  EXPECT_EQ(kept()[0], shared_operators().key(OperatorKind::contact) + ".table");
  const fs::path file = directory_ / "cache" / "sinew" / kept()[0];
  const auto written = fs::last_write_time(file);
  render(contact, "second.png");
  EXPECT_EQ(fs::last_write_time(file), written);
  const std::vector<std::byte> good = read_file(file);
  write_file(file, "garbage");
  render(contact, "third.png");
  EXPECT_TRUE(read_file(file) == good);
  for (const char* name : {"first.png", "second.png", "third.png"})
    EXPECT_TRUE(read_file(directory_ / name) == read_file(directory_ / "off.png")) << name;
}

TEST_F(OperatorTablesCli, RunsDoWithoutThem) {
  write_file(directory_ / "cache", "in the way");
  render("--skin implicit", "a.png");
  const Variable xdg("XDG_CACHE_HOME", std::nullopt), home("HOME", std::nullopt);
  render("--skin implicit", "b.png");
  EXPECT_TRUE(read_file(directory_ / "a.png") == read_file(directory_ / "b.png"));
}

}  // namespace
}  // namespace sinew
