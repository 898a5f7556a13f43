#include "tests/support/pinned_results.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>

namespace sinew::test {

namespace {

constexpr std::size_t kSamplesPerCall = 8;
constexpr const char* kHexDigits = "0123456789abcdef";

const char* const kHeading =
    "# What every method makes of small built-in characters, per instruction set: written by `./run pin`.\n"
    "# hash CASE INSTRUCTION_SET FNV-1a · samples CASE INSTRUCTION_SET floats (x, y, z in metres, as bits)\n";

std::string hex_of(const std::vector<Vec3f>& samples) {
  std::string text;
  for (const Vec3f& p : samples)
    for (int axis = 0; axis < 3; ++axis) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, &p[axis], sizeof bits);
      for (int shift = 28; shift >= 0; shift -= 4) text += kHexDigits[bits >> shift & 15];
    }
  return text;
}

std::vector<Vec3f> samples_of(const std::string& hex, const std::filesystem::path& path) {
  constexpr std::size_t kDigits = 24;  // of a point
  if (hex.size() % kDigits != 0 || hex.find_first_not_of(kHexDigits) != std::string::npos)
    throw Error(fmt::format("{}: samples that are not points", path.string()));
  std::vector<Vec3f> samples(hex.size() / kDigits);
  for (std::size_t i = 0; i < samples.size(); ++i)
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const auto bits =
          static_cast<std::uint32_t>(std::stoul(hex.substr(i * kDigits + axis * 8, 8), nullptr, 16));
      std::memcpy(&samples[i][static_cast<Eigen::Index>(axis)], &bits, sizeof bits);
    }
  return samples;
}

}  // namespace

void ResultPinner::add(const Vec3f* points, std::size_t count) {
  add_bytes(points, count * sizeof(Vec3f));
  for (std::size_t i = 0; i < std::min(count, kSamplesPerCall); ++i)
    result_.samples.push_back(points[i * count / std::min(count, kSamplesPerCall)]);
}

void ResultPinner::add_bytes(const void* data, std::size_t size) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) result_.hash = (result_.hash ^ bytes[i]) * 0x100000001b3u;
}

PinnedResults read_pins(const std::filesystem::path& path) {
  PinnedResults pins;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string what, name, target, value;
    words >> what >> name >> target >> value;
    PinnedResult& pin = pins[{name, target}];
    if (what == "hash" && value.size() == 16) {
      pin.hash = std::stoull(value, nullptr, 16);
    } else if (what == "samples") {
      pin.samples = samples_of(value, path);
    } else {
      throw Error(fmt::format("{}: '{}' is neither a hash nor samples", path.string(), line.substr(0, 60)));
    }
  }
  return pins;
}

void write_pins(const std::filesystem::path& path, const PinnedResults& results) {
  AtomicFile file(path);
  file.write(std::string_view(kHeading));
  std::string sampled;  // the case whose samples stand in the file already
  for (const auto& [key, result] : results) {
    file.write(fmt::format("hash {} {} {:016x}\n", key.first, key.second, result.hash));
    if (key.first == sampled || result.samples.empty()) continue;
    sampled = key.first;
    file.write(fmt::format("samples {} {} {}\n", key.first, key.second, hex_of(result.samples)));
  }
  file.commit();
}

std::string difference_text(const PinnedResult& before, const PinnedResult& now) {
  if (before.samples.empty() || before.samples.size() != now.samples.size())
    return "other points: they cannot be compared";
  double largest = 0, squares = 0;
  for (std::size_t i = 0; i < now.samples.size(); ++i) {
    const double distance = (now.samples[i].cast<double>() - before.samples[i].cast<double>()).norm();
    largest = std::max(largest, distance);
    squares += distance * distance;
  }
  const auto count = static_cast<double>(now.samples.size());
  return fmt::format("largest {:.3g} mm, RMS {:.3g} mm, of {} samples", largest * 1e3,
                     std::sqrt(squares / count) * 1e3, now.samples.size());
}

}  // namespace sinew::test
