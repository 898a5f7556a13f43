// Runs `sinew measure` as a user would.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/core/file.h>

#include "tests/support/cli_fixture.h"

namespace sinew {
namespace {

using test::Outcome;

class MeasureCli : public test::CliFixture {
 protected:
  Outcome measure(const std::string& arguments) { return sinew("measure " + arguments); }
  void expect_failure(const std::string& arguments, const std::string& expected) {
    CliFixture::expect_failure("measure " + arguments, expected);
  }
};

TEST_F(MeasureCli, JsonHasEveryFrameAndASummary) {
  const Outcome outcome = measure("model:tube --clip bend --skin lbs --frames 147-150 --json");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["clip"], "bend");
  EXPECT_EQ(json["first_frame"], 147);
  ASSERT_EQ(json["methods"].size(), 1u);
  const auto& method = json["methods"][0];
  EXPECT_EQ(method["method"], "lbs");
  EXPECT_EQ(method["rest"]["closed"], true);
  EXPECT_EQ(method["rest"]["parts"], 1);
  ASSERT_EQ(method["frames"].size(), 4u);
  EXPECT_EQ(method["frames"][3]["frame"], 150);
  EXPECT_GT(method["frames"][3]["overlap_new_cm3"], 0);
  EXPECT_TRUE(method["frames"][1]["flicker_rms_mm"].is_null());
  EXPECT_TRUE(method["frames"][2]["flicker_rms_mm"].is_number());
  EXPECT_EQ(method["summary"]["buried_new"]["worst_frame"], 150);
  EXPECT_GT(method["summary"]["depth_largest_percent"]["worst"], 0);
  EXPECT_GT(method["median_time_ms"], 0);
}

TEST_F(MeasureCli, ComparesMethodsAndRecipes) {
  write_file(directory_ / "mine.json", R"({"layers": ["dqs"]})");
  const std::string recipe = (directory_ / "mine.json").string();
  const Outcome outcome = measure("model:tube --clip twist --frames 150 --json --compare lbs,dqs," + recipe);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["methods"].size(), 3u);
  const auto volume = [&](int m) {
    return json["methods"][m]["summary"]["volume_percent"]["worst"].get<double>();
  };
  EXPECT_LT(volume(0), volume(1) - 5);
  EXPECT_EQ(volume(1), volume(2));
  EXPECT_EQ(json["methods"][2]["method"], recipe);
}

TEST_F(MeasureCli, TableForPeople) {
  const Outcome outcome = measure("model:tube --clip bend --compare lbs,dqs --frames 148-150 --per-frame");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text : {"lbs worst", "dqs worst", "overlap volume", "% of limb radius", "clip 'bend'",
                           "depth_largest_mm", "@150"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << "\n" << outcome.out;
}

TEST_F(MeasureCli, OpenSurfacesSaySo) {
  write_file(directory_ / "sheet.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n");
  const Outcome outcome = measure((directory_ / "sheet.obj").string());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1 open border"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("note: "), std::string::npos) << outcome.out;
}

TEST_F(MeasureCli, Mistakes) {
  expect_failure("model:tube --clip bend --compare lbs,nonsense", "no method 'nonsense'");
  expect_failure("model:tube --clip bend --compare lbs,,dqs", "a name is empty");
  expect_failure("model:tube --clip bend --compare lbs,lbs", "twice");
  expect_failure("model:tube --clip bend --compare missing.json", "missing.json");
  expect_failure("model:tube --clip bend --compare lbs --skin dqs", "--skin");
  expect_failure("model:tube --clip nonsense", "nonsense");
  expect_failure("model:tube --clip bend --frames 900", "--frames");
  expect_failure("missing.glb", "missing.glb");
}

}  // namespace
}  // namespace sinew
