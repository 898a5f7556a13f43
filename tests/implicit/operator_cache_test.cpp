#include <sinew/implicit/operator_cache.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>

namespace sinew {
namespace {

OperatorTableSpec small(OperatorTableSpec spec) {
  spec.nodes = 9;
  spec.slices = 2;
  return spec;
}

const OperatorProfile kDrawn{{{0, 0.5}, {0.2, 0.4}, {0.5, 0.5}}, false};

bool same(const OperatorTable& a, const OperatorTable& b) {
  return a.spec() == b.spec() && a.nodes().size() == b.nodes().size() &&
         std::memcmp(a.nodes().data(), b.nodes().data(), a.nodes().size() * sizeof(OperatorTable::Node)) == 0;
}

// Someone who knows the format: puts the right checksum at the end.
void sign(std::vector<std::byte>& bytes) {
  const std::size_t size = bytes.size() - sizeof(std::uint64_t);
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t at = 0; at < size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min<std::size_t>(8, size - at));
    sum = (sum ^ word) * 0x100000001b3;
  }
  sum = (sum ^ size) * 0x100000001b3;
  sum ^= sum >> 32;
  std::memcpy(bytes.data() + size, &sum, sizeof sum);
}

TEST(OperatorCache, RoundTrip) {
  for (const OperatorTableSpec& spec : {table_spec(OperatorKind::contact), table_spec(OperatorKind::bulge),
                                        table_spec(OperatorKind::blend), table_spec(kDrawn)}) {
    const OperatorTable table(small(spec));
    const std::vector<std::byte> bytes = to_bytes(table);
    EXPECT_TRUE(same(from_bytes(bytes), table)) << name_of(spec.kind);
    EXPECT_EQ(to_bytes(from_bytes(bytes)), bytes);
  }
}

TEST(OperatorCache, NoticesEveryFlippedBit) {
  const std::vector<std::byte> bytes = to_bytes(OperatorTable(small(table_spec(kDrawn))));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (const unsigned mask : {1u << (i % 8), 0xffu}) {
      std::vector<std::byte> damaged = bytes;
      damaged[i] ^= static_cast<std::byte>(mask);
      EXPECT_THROW(from_bytes(damaged), Error) << i;
    }
}

TEST(OperatorCache, NoticesWhatIsMissingOrTooMuch) {
  const std::vector<std::byte> bytes = to_bytes(OperatorTable(small(table_spec(OperatorKind::contact))));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(from_bytes(std::span(bytes).first(size)), Error) << size;
    if (size < 8) continue;
    std::vector<std::byte> shortened(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    sign(shortened);
    EXPECT_THROW(from_bytes(shortened), Error) << size;
  }
  for (const std::size_t more : {1u, 4u, 8u, 12u, 1000u}) {
    std::vector<std::byte> longer = bytes;
    longer.resize(bytes.size() + more);
    EXPECT_THROW(from_bytes(longer), Error);
    sign(longer);
    EXPECT_THROW(from_bytes(longer), Error);
  }
}

TEST(OperatorCache, SignedNonsenseIsRejectedOrATable) {
  const OperatorTable table(small(table_spec(kDrawn)));
  const std::vector<std::byte> bytes = to_bytes(table);
  std::vector<std::byte> signed_again = bytes;
  sign(signed_again);
  ASSERT_EQ(signed_again, bytes);
  constexpr std::size_t kHeader = 8 + 4 + 4 + 8 + 5 * 4 + 3 * 16;
  std::mt19937 random(14);
  int taken = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::byte> damaged = bytes;
    const bool in_header = round % 2 == 0;
    for (unsigned k = 0; k <= random() % 3; ++k) {
      const std::size_t at =
          in_header ? random() % kHeader : kHeader + random() % (bytes.size() - 8 - kHeader);
      const std::byte before = damaged[at];
      damaged[at] = static_cast<std::byte>(random());
      if (damaged[at] == before) damaged[at] ^= std::byte{1};
    }
    sign(damaged);
    try {
      const OperatorTable found = from_bytes(damaged);
      EXPECT_FALSE(in_header);
      ++taken;
      // Whatever the values are, they are numbers.
      for (const float f1 : {0.1f, 0.5f, 0.77f, 1.0f})
        for (const float f2 : {0.2f, 0.5f, 0.9f})
          for (const float d : {0.0f, 0.3f, 1.0f})
            ASSERT_TRUE(std::abs(found.evaluate(f1, f2, d).value) <= 4);
    } catch (const Error&) {
    }
  }
  EXPECT_GT(taken, 100);
}

TEST(OperatorCache, RejectsValuesNoTableHas) {
  const OperatorTable table(small(table_spec(OperatorKind::bulge)));
  for (std::size_t lane = 0; lane < 3; ++lane)
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), 1e6f, -1e6f}) {
      std::vector<OperatorTable::Node> nodes = table.nodes();
      nodes[nodes.size() / 2].lanes[lane] = bad;
      const std::vector<std::byte> bytes = to_bytes(OperatorTable(table.spec(), nodes));
      EXPECT_THROW(from_bytes(bytes), Error) << lane << ' ' << bad;
    }
}

TEST(OperatorCache, KeysTellTablesApart) {
  std::set<std::string> keys;
  int count = 0;
  const auto add = [&](const OperatorTableSpec& spec) {
    keys.insert(content_key(spec));
    ++count;
  };
  for (const OperatorKind kind : {OperatorKind::contact, OperatorKind::bulge, OperatorKind::blend}) {
    OperatorTableSpec spec = table_spec(kind);
    add(spec);
    spec.nodes = 33;
    add(spec);
    spec.slices = 17;
    add(spec);
  }
  OperatorProfile profile = kDrawn;
  add(table_spec(profile));
  profile.contact = true;
  add(table_spec(profile));
  profile.points[1].y() += 1e-15;
  add(table_spec(profile));
  profile.points[1].x() += 1e-15;
  add(table_spec(profile));
  profile.points.insert(profile.points.begin() + 1, profile.points[1]);
  add(table_spec(profile));
  add(table_spec(contact_profile()));  // as a profile of one's own
  EXPECT_EQ(keys.size(), to_size(count));
  EXPECT_EQ(content_key(table_spec(kDrawn)), content_key(table_spec(OperatorProfile(kDrawn))));
  for (const std::string& key : keys)
    EXPECT_EQ(key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << key;
}

}  // namespace
}  // namespace sinew
