#include <sinew/skeleton/joint_sides.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <Eigen/Eigenvalues>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/text.h>
#include <sinew/skeleton/joint_names.h>

namespace sinew {

namespace {

// Bytes of other alphabets belong to words.
bool is_separator(char c) {
  return !is_letter(c) && !is_digit(c) && static_cast<unsigned char>(c) < 0x80;
}
bool is_word(std::string_view text, std::string_view word) {
  return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                    [](char a, char b) { return lower_case(a) == b; });
}

Side side_of_word(std::string_view text) {
  if (is_word(text, "left")) return Side::left;
  if (is_word(text, "right")) return Side::right;
  return Side::none;
}

Side side_of_letter(char c) {
  if (lower_case(c) == 'l') return Side::left;
  if (lower_case(c) == 'r') return Side::right;
  return Side::none;
}

// A camel-case word ends before `at`: "handL", "Hand2Left", or the last capital of "IKLeft".
bool case_border(std::string_view name, std::size_t at) {
  const char before = name[at - 1], c = name[at];
  if (!is_letter(before) || !is_letter(c)) return is_digit(before) != is_digit(c);
  if (is_lower(before) && is_upper(c)) return true;
  return is_upper(before) && is_upper(c) && at + 1 < name.size() && is_lower(name[at + 1]);
}

struct Span {
  std::size_t begin, end;
};

// The maximal parts of the name without a separator, from `first` on.
std::vector<Span> separated_parts(std::string_view name, std::size_t first) {
  std::vector<Span> parts;
  for (std::size_t i = first; i < name.size();) {
    if (is_separator(name[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < name.size() && !is_separator(name[end])) ++end;
    parts.push_back({i, end});
    i = end;
  }
  return parts;
}

// The same, cut also where the case changes and between letters and digits.
std::vector<Span> words(std::string_view name, std::span<const Span> parts) {
  std::vector<Span> result;
  for (const Span& part : parts) {
    std::size_t begin = part.begin;
    for (std::size_t at = part.begin + 1; at < part.end; ++at) {
      if (!case_border(name, at)) continue;
      result.push_back({begin, at});
      begin = at;
    }
    result.push_back({begin, part.end});
  }
  return result;
}

std::size_t after_namespace(std::string_view name) {
  return name.size() - without_namespace(name).size();
}

// The name without the number at its end, if it is set off: "b_LeftFoot_017".
std::string_view without_serial(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  if (end == name.size() || end < 2 || !is_separator(name[end - 1])) return name;
  return name.substr(0, end - 1);
}

}  // namespace

NamedSide parse_side(std::string_view name) {
  const std::size_t first = after_namespace(name);
  const std::vector<Span> parts = separated_parts(name, first);
  const std::vector<Span> all_words = words(name, parts);
  for (auto word = all_words.rbegin(); word != all_words.rend(); ++word) {
    const Side side = side_of_word(name.substr(word->begin, word->end - word->begin));
    if (side != Side::none) return {side, word->begin, word->end - word->begin};
  }
  // A letter says which side of something: a joint "R" or "L_1" is just called so.
  const auto names_more_than = [&](const Span& letter) {
    return std::any_of(parts.begin(), parts.end(), [&](const Span& part) {
      for (std::size_t i = part.begin; i < part.end; ++i)
        if (i != letter.begin && !is_digit(name[i])) return true;
      return false;
    });
  };
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (part->end - part->begin != 1) continue;
    const Side side = side_of_letter(name[part->begin]);
    if (side != Side::none && names_more_than(*part)) return {side, part->begin, 1};
  }
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const std::size_t begin = part->begin, last = part->end - 1;
    if (last > begin && is_upper(name[last]) && is_lower(name[last - 1]) &&
        side_of_letter(name[last]) != Side::none)
      return {side_of_letter(name[last]), last, 1};  // footR
    if (last > begin + 1 && is_upper(name[begin + 1]) && is_lower(name[begin + 2]) &&
        side_of_letter(name[begin]) != Side::none)
      return {side_of_letter(name[begin]), begin, 1};  // lThigh, LArm
  }
  return {};
}

std::string other_side(std::string_view name) {
  const NamedSide found = parse_side(name);
  std::string result(name);
  if (found.side == Side::none) return result;
  const bool to_left = found.side == Side::right;
  std::string word = found.length == 1 ? (to_left ? "l" : "r") : (to_left ? "left" : "right");
  const std::string_view old = name.substr(found.begin, found.length);
  if (is_upper(old[0])) word[0] = upper_case(word[0]);
  if (old.size() > 1 && is_upper(old[1])) std::transform(word.begin(), word.end(), word.begin(), upper_case);
  return result.replace(found.begin, found.length, word);
}

std::vector<int> mirror_joints(const Skeleton& skeleton) {
  const std::size_t count = skeleton.size();
  std::vector<int> partner(count, -1);
  std::vector<Side> sides(count);
  // Both joints of a pair have the same key: the name on the left, and more loosely, without its number and
  // the spelling of the side.
  using Pairs = std::map<std::string, std::array<std::vector<int>, 2>>;
  Pairs exact, loose;
  std::vector<std::string> loose_keys(count);
  for (std::size_t j = 0; j < count; ++j) {
    const std::string& name = skeleton.joints[j].name;
    const NamedSide found = parse_side(name);
    sides[j] = found.side;
    if (found.side == Side::none) {
      partner[j] = static_cast<int>(j);
      continue;
    }
    const bool right = found.side == Side::right;
    exact[right ? other_side(name) : name][right ? 1 : 0].push_back(static_cast<int>(j));
    std::string spelled_alike = name;
    spelled_alike.erase(found.begin, found.length).insert(found.begin, 1, '*');
    loose_keys[j] = without_serial(spelled_alike);
  }
  const auto join = [&](int a, int b) {
    partner[to_size(a)] = b;
    partner[to_size(b)] = a;
  };
  for (const auto& entry : exact) {
    const auto& [left, right] = entry.second;
    for (std::size_t k = 0; k < std::min(left.size(), right.size()); ++k) join(left[k], right[k]);
  }
  // Numbers tell nothing only where no two joints of either side share the rest of the name: of a chain
  // leg_L_1, leg_L_2, leg_R_1, leg_R_3 the last ones are not partners.
  for (std::size_t j = 0; j < count; ++j)
    if (sides[j] != Side::none)
      loose[loose_keys[j]][sides[j] == Side::right ? 1 : 0].push_back(static_cast<int>(j));
  for (const auto& entry : loose) {
    const auto& [left, right] = entry.second;
    if (left.size() == 1 && right.size() == 1 && partner[to_size(left[0])] == -1) join(left[0], right[0]);
  }
  return partner;
}

std::optional<MirrorPlane> find_mirror_plane(const Skeleton& skeleton,
                                             std::span<const Affine3d> world_from_joint,
                                             std::span<const int> partner, MirrorFit* fit) {
  const std::size_t count = skeleton.size();
  assert(world_from_joint.size() == count && partner.size() == count);
  std::vector<Vec3d> positions(count);
  Eigen::AlignedBox3d box;
  for (std::size_t j = 0; j < count; ++j) {
    positions[j] = world_from_joint[j].translation();
    if (!positions[j].allFinite())
      throw Error(fmt::format("joint '{}': position ({}, {}, {}) is not finite", skeleton.joints[j].name,
                              positions[j].x(), positions[j].y(), positions[j].z()));
    box.extend(positions[j]);
  }

  struct Pair {
    Vec3d middle, difference;  // from right to left
  };
  std::vector<Pair> pairs;
  std::vector<std::size_t> axial;
  Vec3d middle = Vec3d::Zero();
  for (std::size_t j = 0; j < count; ++j) {
    if (partner[j] < 0) continue;
    const auto other = to_size(partner[j]);
    assert(other < count && partner[other] == static_cast<int>(j));
    if (other == j) axial.push_back(j);
    if (other <= j) continue;
    const double sign = parse_side(skeleton.joints[j].name).side == Side::right ? -1 : 1;
    pairs.push_back({0.5 * (positions[j] + positions[other]), sign * (positions[j] - positions[other])});
    middle += pairs.back().middle;
  }
  MirrorFit result;
  result.pairs = pairs.size();
  result.axial_joints = axial.size();
  result.size = count > 0 ? box.diagonal().norm() : 0;
  if (fit) *fit = result;
  if (pairs.empty() || !(result.size > 0)) return std::nullopt;
  middle /= static_cast<double>(pairs.size());

  // A mirror (n, c) takes l to l - 2 n (n·l - c). Along n the distance to r is 2 (c - n·m), across it that
  // part of l - r, with m the middle. So the sum of squares over all pairs is least for c the mean of n·m and
  // for n the eigenvector of Σ 4 (m - mean) (m - mean)ᵀ - (l - r) (l - r)ᵀ with the smallest eigenvalue.
  Mat3d moments = Mat3d::Zero();
  Vec3d to_left = Vec3d::Zero();
  double apart = 0;
  for (const Pair& pair : pairs) {
    const Vec3d m = (pair.middle - middle) / result.size, d = pair.difference / result.size;
    moments += 4 * m * m.transpose() - d * d.transpose();
    to_left += d;
    apart = std::max(apart, d.norm());
  }
  constexpr double kCoincident = 1e-6;  // of the size: rounding of float positions
  if (apart < kCoincident) return std::nullopt;
  MirrorPlane plane{middle, Eigen::SelfAdjointEigenSolver<Mat3d>(moments).eigenvectors().col(0)};
  if (plane.normal.dot(to_left) < 0) plane.normal = -plane.normal;

  const auto residual = [&](const MirrorPlane& candidate) {
    double squares = 0;
    for (const Pair& pair : pairs) {
      const Vec3d left = pair.middle + 0.5 * pair.difference, right = pair.middle - 0.5 * pair.difference;
      squares += (candidate.mirrored(left) - right).squaredNorm();
    }
    return std::sqrt(squares / static_cast<double>(pairs.size()));
  };
  result.pair_residual = residual(plane);
  // Meshes are modelled about a plane of the coordinate system, and joints are placed by hand: where that
  // plane does hardly worse, the difference is the hand's.
  constexpr double kRounding = 1e-5;  // of the size
  constexpr double kHardlyWorse = 2;
  int axis = 0;
  plane.normal.cwiseAbs().maxCoeff(&axis);
  const MirrorPlane modelled{Vec3d::Zero(), (plane.normal[axis] > 0 ? 1.0 : -1.0) * Vec3d::Unit(axis)};
  const double modelled_residual = residual(modelled);
  if (modelled_residual <= std::max(kHardlyWorse * result.pair_residual, kRounding * result.size)) {
    plane = modelled;
    result.pair_residual = modelled_residual;
  }
  if (!axial.empty()) {
    std::vector<double> heights;
    for (const std::size_t j : axial) heights.push_back(std::abs(plane.height(positions[j])));
    const auto median = heights.begin() + static_cast<std::ptrdiff_t>(heights.size() / 2);
    std::nth_element(heights.begin(), median, heights.end());
    result.axial_residual = *median;
  }
  if (fit) *fit = result;
  if (result.pair_residual > kMirrorTolerance * result.size ||
      result.axial_residual > kMirrorTolerance * result.size)
    return std::nullopt;
  return plane;
}

}  // namespace sinew
