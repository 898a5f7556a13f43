// Runs `sinew bench` as a user would. Times are checked for being there, never for being short.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <sinew/character/layer.h>
#include <sinew/core/file.h>
#include <sinew/core/index.h>
#include <sinew/core/math.h>

#include "tests/picture/markup.h"
#include "tests/support/cli_fixture.h"
#include "tests/support/sanitized.h"

namespace sinew {
namespace {

using Json = nlohmann::json;
using test::Outcome;

// Sanitizers bring an allocator that keeps what is freed, so that a process does not grow when it should.
const bool kSanitized = test::is_sanitized();

class BenchCli : public test::CliFixture {
 protected:
  Json bench_json(const std::string& arguments) {
    const Outcome outcome = sinew("bench --json " + arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "") << "progress belongs on a terminal";
    return Json::parse(outcome.out, nullptr, false);
  }
  void expect_failure(const std::string& arguments, const std::string& expected) {
    CliFixture::expect_failure("bench " + arguments, expected);
  }
};

/// Methods that do nothing on a tube: it has no tail.
bool idle(const LayerMethod& method) {
  return method.name == "curves";
}
const std::size_t kMethodsOnTube = to_size(std::ranges::count_if(layer_methods(), std::not_fn(idle)));

/// Case, method and output to hash; fails when the numbers of threads do not agree on it.
std::map<std::string, std::string> hashes_of(const Json& report) {
  std::map<std::string, std::string> hashes;
  for (const Json& entry : report.at("cases"))
    for (const Json& run : entry.at("runs"))
      for (const char* field : {"hash", "normals_hash"}) {
        if (!run.contains(field)) continue;
        const std::string what = entry.at("case").get<std::string>() + "/" +
                                 run.at("method").get<std::string>() + "/" +
                                 run.at("output").get<std::string>() + "/" + field;
        const std::string hash = run.at(field);
        EXPECT_EQ(hash.size(), 16u) << what;
        EXPECT_EQ(hashes.try_emplace(what, hash).first->second, hash) << what;
      }
  return hashes;
}

TEST_F(BenchCli, EveryMethodWithEveryOutputOnOneAndTwoThreads) {
  const Json report = bench_json("--repeats 2 --filter tube");
  for (const char* field : {"version", "processor", "simd", "compiler"})
    EXPECT_NE(report.at(field).get<std::string>(), "") << field;
  EXPECT_GE(report.at("share_of_others").get<double>(), 0);
  EXPECT_LE(report.at("share_of_others").get<double>(), 1);
  EXPECT_TRUE(report.at("kernels").empty());
  ASSERT_EQ(report.at("cases").size(), 1u);
  const Json& tube = report["cases"][0];
  EXPECT_EQ(tube.at("case"), "tube 2050");
  EXPECT_EQ(tube.at("vertices"), 2050);
  EXPECT_EQ(tube.at("joints"), 2);
  EXPECT_EQ(tube.at("performers"), 1);
  EXPECT_EQ(tube.at("clip"), "bend");

  std::set<std::string> seen, expected;
  for (const LayerMethod& method : layer_methods()) {
    if (idle(method)) continue;
    for (const char* rest :
         {"/positions/1", "/positions/2", "/positions and normals/1", "/positions and normals/2"})
      expected.insert(std::string(method.name) + rest);
  }
  for (const Json& run : tube.at("runs")) {
    seen.insert(run.at("method").get<std::string>() + "/" + run.at("output").get<std::string>() + "/" +
                std::to_string(run.at("threads").get<int>()));
    for (const char* field : {"setup_ms", "ms_per_frame", "ms_per_frame_fastest", "ms_per_frame_slowest",
                              "ns_per_vertex", "ratio_to_lbs"})
      EXPECT_GT(run.at(field).get<double>(), 0) << field;
    EXPECT_LE(run.at("ms_per_frame_fastest"), run.at("ms_per_frame"));
    EXPECT_GE(run.at("ms_per_frame_slowest"), run.at("ms_per_frame"));
    EXPECT_NEAR(run.at("ns_per_vertex").get<double>() * 2050, run.at("ms_per_frame").get<double>() * 1e6,
                1e-3 * run.at("ms_per_frame").get<double>() * 1e6);
    EXPECT_EQ(run.at("repeats"), 2);
    EXPECT_TRUE(kSanitized || run.at("character_bytes").get<double>() > 2050 * sizeof(Vec3f)) << run;
    EXPECT_TRUE(kSanitized || run.at("performer_bytes").get<double>() > 0) << run;
    if (run.at("method") == "lbs") {
      EXPECT_EQ(run.at("ratio_to_lbs"), 1);
    }
  }
  EXPECT_EQ(seen, expected);
}

TEST_F(BenchCli, HashesAgreeOverThreadsRunsAndRepeats) {
  const auto once = hashes_of(bench_json("--repeats 1 --filter tube"));
  const auto again = hashes_of(bench_json("--repeats 2 --filter tube"));
  EXPECT_EQ(once, again);
  EXPECT_EQ(once.size(), 3 * kMethodsOnTube);
  std::set<std::string> positions;
  for (const LayerMethod& method : layer_methods()) {
    if (idle(method)) continue;
    const std::string name = "tube 2050/" + std::string(method.name);
    EXPECT_EQ(once.at(name + "/positions/hash"), once.at(name + "/positions and normals/hash"));
    positions.insert(once.at(name + "/positions/hash"));
  }
  EXPECT_GT(positions.size(), 1u) << "a hash that cannot tell methods apart";
}

TEST_F(BenchCli, PerformersOfOneCharacter) {
  if (test::kSanitized) GTEST_SKIP() << "making the mannequin takes minutes here";
  const Json report = bench_json("--repeats 1 --filter 'x 32' --methods dqs,implicit");
  ASSERT_EQ(report.at("cases").size(), 1u);
  EXPECT_EQ(report["cases"][0].at("performers"), 32);
  EXPECT_EQ(report["cases"][0].at("vertices"), 6866);
  EXPECT_EQ(hashes_of(report).size(), 3 * 3u);
  for (const Json& run : report["cases"][0].at("runs"))
    EXPECT_TRUE(kSanitized || run.at("performer_bytes").get<double>() > 32 * 6866 * sizeof(Vec3f)) << run;
}

TEST_F(BenchCli, MethodsMayBeChosen) {
  const Json report = bench_json("--repeats 1 --filter tube --methods implicit,dqs");
  std::set<std::string> seen;
  for (const Json& run : report.at("cases").at(0).at("runs")) {
    seen.insert(run.at("method"));
    EXPECT_GT(run.at("ratio_to_lbs").get<double>(), 0);
  }
  EXPECT_EQ(seen, (std::set<std::string>{"lbs", "dqs", "implicit"})) << "lbs is what all are compared to";
  expect_failure("--methods lbs,magic", "--methods: no method 'magic'; there are lbs, dqs");
}

TEST_F(BenchCli, KernelsStandBesidePlainLoops) {
  const Json report = bench_json("--repeats 1 --filter kernels");
  EXPECT_TRUE(report.at("cases").empty());
  std::map<std::string, std::string> hashes;
  for (const Json& run : report.at("kernels")) {
    const std::string what = run.at("method").get<std::string>() + "/" + run.at("output").get<std::string>() +
                             "/" + std::to_string(run.at("vertices").get<int>());
    const std::string hash = run.at("hash");
    EXPECT_EQ(hashes.try_emplace(what, hash).first->second, hash) << what;
    EXPECT_GT(run.at("ms").get<double>(), 0) << what;
    EXPECT_GT(run.at("times_plain").get<double>(), 0) << what;
  }
  EXPECT_EQ(hashes.size(), 12u);
}

TEST_F(BenchCli, KernelsAreLeftOutWhereTheirProgramIsMissing) {
  std::filesystem::copy_file(test::cli_program(), directory_ / "sinew");
  const Outcome outcome = run_program(path("sinew"), "bench --json --repeats 1 --filter kernels");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("'kernels 30000' and 'kernels 500000' left out"), std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("--target sinew_bench_kernels"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  EXPECT_TRUE(Json::parse(outcome.out).at("kernels").empty());

  // What it says when it fails is what the bench says.
  write_file(directory_ / "sinew_bench_kernels", "#!/bin/sh\necho '{\"error\": \"out of tubes\"}'\nexit 1\n");
  std::filesystem::permissions(directory_ / "sinew_bench_kernels", std::filesystem::perms::owner_all);
  const Outcome failed = run_program(path("sinew"), "bench --json --repeats 1 --filter kernels");
  EXPECT_EQ(failed.exit_code, 1);
  EXPECT_EQ(failed.err, "sinew: out of tubes\n");
}

TEST_F(BenchCli, KernelsHaveATable) {
  const Outcome outcome = sinew("bench --repeats 1 --filter 'kernels 30000'");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("kernels 30000: the kernels alone, 60 joints, 4 influences; median of 1\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("x plain speed"), std::string::npos) << outcome.out;
}

TEST_F(BenchCli, TableAndPlot) {
  const std::string plot = path("scaling.svg");
  const Outcome outcome = sinew("bench --repeats 1 --filter tube --plot " + plot);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  for (const char* text :
       {"tube 2050", "set-up ms", "ns/vertex", "x lbs", "other programs took", "scaling.svg"})
    EXPECT_NE(outcome.out.find(text), std::string::npos) << text << "\n" << outcome.out;
  const auto bytes = read_file(plot);
  const std::string svg(as_text(bytes));
  EXPECT_TRUE(svg.starts_with("<svg "));
  test::expect_well_formed(svg);
  for (const LayerMethod& method : layer_methods())
    EXPECT_NE(svg.find(">" + std::string(method.name) + "<"), std::string::npos) << method.name;
}

TEST_F(BenchCli, Mistakes) {
  expect_failure(
      "--filter nonsense",
      "--filter nonsense: no case has that in its name; there are: tube 2050, hand 31750, mannequin "
      "6866, mannequin 32056, mannequin 172974, mannequin 6866 x 32, cat 20000, kernels 30000, kernels "
      "500000, "
      "bind mannequin 13380, bind mannequin 172974");
  expect_failure("--filter tube --plot " + path("plot.png"), "must be an .svg file");
  expect_failure("--filter tube --plot " + path("missing/plot.svg"), "missing/plot.svg");
  expect_failure("--filter kernels --plot " + path("plot.svg"), "no single character");
  expect_failure("--repeats 0", "--repeats");
}

TEST_F(BenchCli, TimesBinding) {
  if (test::kSanitized) GTEST_SKIP() << "makes a mannequin, which takes minutes here";
  const Json report = bench_json("--repeats 1 --filter 'bind mannequin 13380'");
  EXPECT_TRUE(report.at("cases").empty());
  ASSERT_EQ(report.at("binding").size(), 2u);
  for (const Json& run : report["binding"]) {
    EXPECT_EQ(run.at("vertices"), 13380);
    EXPECT_EQ(run.at("joints"), 63);
    EXPECT_GT(run.at("ms").get<double>(), 0);
    EXPECT_EQ(run.at("hash"), report["binding"][0].at("hash"));
  }
  EXPECT_EQ(report["binding"][1].at("threads"), 2);
}

TEST_F(BenchCli, TimesAFilesOwnClips) {
  const std::string tube = path("tube.glb");
  ASSERT_EQ(sinew("generate tube --vertices 400 -o " + tube).exit_code, 0);
  const Json all = bench_json(tube + " --methods dqs --repeats 1");
  ASSERT_GT(all.at("cases").size(), 1u);
  EXPECT_GE(all["cases"][0].at("vertices"), 400);
  EXPECT_TRUE(all.at("kernels").empty());
  const std::string clip = all["cases"][1].at("clip");
  const Json one = bench_json(tube + " --clip " + clip + " --methods dqs --repeats 1");
  ASSERT_EQ(one.at("cases").size(), 1u);
  EXPECT_EQ(one["cases"][0].at("clip"), clip);
  expect_failure(tube + " --clip nothing", "no clip 'nothing'; there are");
  expect_failure("--clip bend", "name the file that has the clip");
}

}  // namespace
}  // namespace sinew
