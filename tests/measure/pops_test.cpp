#include <sinew/measure/pops.h>

#include <cmath>

#include <gtest/gtest.h>

namespace sinew {
namespace {

constexpr std::size_t kCount = 10;
const std::vector<std::uint8_t> kAll(kCount, 1), kNoContact(kCount, 0);

std::vector<Vec3f> base_at(int frame) {
  std::vector<Vec3f> base(kCount);
  for (std::size_t v = 0; v < kCount; ++v)
    base[v] = Vec3f(std::sin(1.3f * static_cast<float>(frame)), static_cast<float>(v),
                    static_cast<float>(frame * frame));
  return base;
}

TEST(Pops, AVertexThatJumpsOncePopsTwice) {
  // Displaced by 5 mm from frame 3 on: second differences of 5 mm in frames 3 and 4, none before and after.
  PopMeter meter(kAll);
  for (int frame = 0; frame < 8; ++frame) {
    std::vector<Vec3f> positions = base_at(frame);
    if (frame >= 3) positions[7] += Vec3f(0, 0.005f, 0);
    std::vector<std::uint8_t> contact = kNoContact;
    contact[7] = contact[2] = 1;
    meter.add(positions, base_at(frame), contact);
    ASSERT_EQ(meter.pops().has_value(), frame >= 2);
    ASSERT_EQ(meter.steps().has_value(), frame >= 1);
    if (frame < 2) continue;
    const bool pops = frame == 3 || frame == 4;
    EXPECT_NEAR(meter.pops()->largest, pops ? 0.005 : 0, 1e-6) << frame;
    EXPECT_EQ(meter.pops()->share, pops ? 0.1 : 0) << frame;
    EXPECT_EQ(meter.pops()->share_in_contact, pops ? 0.5 : 0) << frame;
    EXPECT_NEAR(meter.pops()->rms, pops ? 0.005 / std::sqrt(10.0) : 0, 1e-6) << frame;
    EXPECT_NEAR(meter.steps()->largest, frame == 3 ? 0.005 : 0, 1e-6) << frame;
    EXPECT_EQ(meter.steps()->share, frame == 3 ? 0.1 : 0) << frame;
  }
}

TEST(Pops, WhatComesEvenlyDoesNotPop) {
  PopMeter meter(kAll);
  for (int frame = 0; frame < 6; ++frame) {
    std::vector<Vec3f> positions = base_at(frame);
    for (Vec3f& p : positions) p.x() += 0.01f * static_cast<float>(frame);
    meter.add(positions, base_at(frame), kNoContact);
    if (frame >= 2) {
      EXPECT_LT(meter.pops()->largest, 1e-5);
    }
    if (frame >= 1) {
      EXPECT_NEAR(meter.steps()->largest, 0.01, 1e-5);
      EXPECT_EQ(meter.steps()->share, 1);
    }
  }
}

TEST(Pops, LeavesOutWhatDoesNotCount) {
  std::vector<std::uint8_t> counts = kAll;
  counts[4] = 0;
  PopMeter meter(counts);
  for (int frame = 0; frame < 4; ++frame) {
    std::vector<Vec3f> positions = base_at(frame);
    if (frame == 3) positions[4].x() += 1;
    meter.add(positions, base_at(frame), kNoContact);
  }
  EXPECT_EQ(meter.pops()->largest, 0);
  EXPECT_EQ(meter.steps()->share, 0);
}

}  // namespace
}  // namespace sinew
