#include <sinew/scene/imported_scene.h>

#include <cstring>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

namespace sinew {
namespace {

ImportedScene full_scene() {
  ImportedScene scene;
  scene.nodes = {{"root", -1, Mat4f::Identity(), {0, 1}}, {"", 0, 2 * Mat4f::Identity(), {}}};
  scene.meshes.resize(2);
  scene.meshes[1] = {"m",
                     {{1, 2, 3}},
                     {{0, 1, 0}},
                     {{0.5f, 0.25f}},
                     {0, 0, 0},
                     {0, 3},
                     {{"b", Mat4f::Identity(), {0}, {1}}},
                     {{"x", 0.5f, {{3, 2, 1}}}}};
  scene.clips = {{"c",
                  {{"root", {0.5}, {1}, {2}, {{1, 1, 1}}, {{2, 2, 2}}, {{0, 0, 0, 1}}}},
                  {{"root", {0}, {0, 1}, {0}, {1}}}}};
  scene.axes = {0, 2, 1};
  scene.centimetres_per_unit = 2.5;
  scene.messages = {"hello"};
  return scene;
}

TEST(ImportedScene, PackingAndUnpackingChangesNothing) {
  const std::vector<std::byte> bytes = pack(full_scene());
  const ImportedScene back = unpack(bytes, "a.fbx");
  EXPECT_EQ(pack(back), bytes);
  ASSERT_EQ(back.meshes.size(), 2u);
  EXPECT_EQ(back.meshes[1].bones[0].node, "b");
  EXPECT_EQ(back.meshes[1].morphs[0].positions[0], Vec3f(3, 2, 1));
  EXPECT_EQ(back.clips[0].channels[0].rotations[0], Vec4f(0, 0, 0, 1));
  EXPECT_EQ(back.nodes[1].local, Mat4f(2 * Mat4f::Identity()));
  EXPECT_EQ(back.centimetres_per_unit, 2.5);
}

TEST(ImportedScene, CutAndChangedBytesAreRefusedOrHarmless) {
  const std::vector<std::byte> bytes = pack(full_scene());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(unpack(std::span(bytes).first(size), "a.fbx"), Error) << size;
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(unpack(longer, "a.fbx"), Error);
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> changed = bytes;
    changed[i] = std::byte{0xff};
    try {
      unpack(changed, "a.fbx");
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace sinew
