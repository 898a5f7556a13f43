#include <sinew/picture/character_picture.h>

#include <cmath>

#include <gtest/gtest.h>

#include <sinew/core/error.h>

#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

class TubePicture : public ::testing::Test {
 protected:
  TubePicture()
      : scene_(test::make_grid_tube({.rings = 24, .segments = 12})),
        character_(Character::make(scene_, Recipe())) {
    options_.width = options_.height = 64;
    options_.quality = ClayQuality::draft;
    options_.backdrop = {{255, 255, 255}, {255, 255, 255}};
  }
  Camera camera(const Performer& performer) const {
    CameraFit fit(parse_view("0,0"), 1);
    fit.add(performer.welded_positions());
    return fit.camera();
  }
  int joint(const char* name) const { return character_->skeleton().find(name); }

  Scene scene_;
  std::shared_ptr<const Character> character_;
  ClayOptions options_;
};

TEST_F(TubePicture, EveryColoringDraws) {
  const Performer performer(character_);
  const Image clay = CharacterPicture(character_).render(performer, camera(performer), options_);
  for (const auto by : {Coloring::By::weights, Coloring::By::partition, Coloring::By::joint,
                        Coloring::By::stretch, Coloring::By::values}) {
    Coloring coloring;
    coloring.by = by;
    coloring.joint = joint("upper");
    coloring.values.assign(character_->rest().size(), 0.5f);
    const CharacterPicture picture(character_, coloring);
    const Image image = picture.render(performer, camera(performer), options_);
    EXPECT_FALSE(image == clay) << static_cast<int>(by);
    EXPECT_EQ(picture.scale().has_value(), by != Coloring::By::weights && by != Coloring::By::partition);
  }
}

TEST_F(TubePicture, BoneWeightIsHotAtItsEnd) {
  const Performer performer(character_);
  Coloring coloring;
  coloring.by = Coloring::By::joint;
  coloring.joint = joint("upper");
  const Image image = CharacterPicture(character_, coloring).render(performer, camera(performer), options_);
  EXPECT_GT(image.at(52, 32).g, image.at(12, 32).g + 60);  // the tube lies along x, upper to the right
}

TEST_F(TubePicture, ColoringMustFit) {
  Coloring coloring;
  coloring.by = Coloring::By::joint;
  coloring.joint = 99;
  EXPECT_THROW(CharacterPicture(character_, coloring), Error);
  coloring.by = Coloring::By::values;
  coloring.values.resize(3);
  EXPECT_THROW(CharacterPicture(character_, coloring), Error);
}

TEST_F(TubePicture, MarksChangeFromFrameToFrame) {
  const Performer performer(character_);
  Coloring coloring;
  coloring.by = Coloring::By::marks;
  CharacterPicture picture(character_, coloring);
  EXPECT_FALSE(picture.scale().has_value());
  const Image clay = CharacterPicture(character_).render(performer, camera(performer), options_);
  EXPECT_EQ(picture.render(performer, camera(performer), options_), clay);  // too small for a legend
  std::vector<std::uint8_t> marks(character_->rest().size(), 0);
  const auto mark_right_half = [&](VertexMark mark) {
    for (std::size_t v = 0; v < marks.size(); ++v)
      marks[v] = character_->rest()[v].x() > 0.2f ? static_cast<std::uint8_t>(mark) : 0;
    picture.set_marks(marks);
    return picture.render(performer, camera(performer), options_);
  };
  const Image moved = mark_right_half(VertexMark::moved), contact = mark_right_half(VertexMark::contact);
  for (const Image* image : {&moved, &contact}) EXPECT_EQ(image->at(12, 32), clay.at(12, 32));
  const Rgb blue = moved.at(52, 32), red = contact.at(52, 32);
  EXPECT_GT(blue.b, blue.r + 40);
  EXPECT_GT(red.r, red.g + 80);
  EXPECT_GT(red.r, red.b + 80);
  EXPECT_EQ(mark_right_half(VertexMark::plain), clay);
  options_.clay = {60, 140, 60};  // plain vertices take it
  const Image green = picture.render(performer, camera(performer), options_);
  EXPECT_GT(green.at(12, 32).g, green.at(12, 32).r + 30);
}

TEST_F(TubePicture, MarksHaveALegendNotABar) {
  const Performer performer(character_);
  options_.width = options_.height = 200;
  Coloring coloring;
  coloring.by = Coloring::By::marks;
  const Image clay = CharacterPicture(character_).render(performer, camera(performer), options_);
  const Image image = CharacterPicture(character_, coloring).render(performer, camera(performer), options_);
  int red = 0;
  for (int y = 0; y < 200; ++y)
    for (int x = 0; x < 200; ++x) {
      if (x < 60 || y < 110) {
        EXPECT_EQ(image.at(x, y), clay.at(x, y));
      }
      red += image.at(x, y).r > image.at(x, y).g + 100;
    }
  EXPECT_GT(red, 30);
}

TEST_F(TubePicture, MarksMustFit) {
  Coloring coloring;
  coloring.by = Coloring::By::marks;
  CharacterPicture picture(character_, coloring);
  std::vector<std::uint8_t> marks(character_->rest().size(), 0);
  EXPECT_THROW(picture.set_marks(std::span(marks).first(3)), Error);
  marks[5] = 3;
  EXPECT_THROW(picture.set_marks(marks), Error);
  marks[5] = 2;
  picture.set_marks(marks);
  CharacterPicture plain(character_);
  EXPECT_THROW(plain.set_marks(marks), Error);
}

TEST_F(TubePicture, SliceShowsTheFieldInThePosedCharacter) {
  const Performer performer(character_);
  const CharacterPicture picture(character_);
  // A field thicker than the tube, whose radius is 0.2 m.
  const FieldFunction field = [](const Vec3d& p) {
    return std::clamp(0.5 + 2 * (0.4 - std::hypot(p.y(), p.z())), 0.0, 1.0);
  };
  const CutPlane plane = plane_through(Vec3d::Zero(), Vec3d::UnitZ());
  FieldSliceOptions slice;
  slice.key = false;
  const Pose rest = character_->rest_pose();
  const Image image = picture.render_slice(performer, field, plane, camera(performer), options_, slice);
  EXPECT_GT(image.at(32, 32).r, image.at(32, 32).b + 40);
  EXPECT_GT(image.at(32, 18).b, image.at(32, 18).r + 40);
  EXPECT_FALSE(image ==
               picture.render_slice(performer, field, plane, camera(performer), options_, slice, &rest));
}

TEST_F(TubePicture, StretchIsZeroAtRestAndFollowsScale) {
  for (const float s : area_stretch(*character_, character_->rest())) EXPECT_NEAR(s, 0, 1e-4);
  std::vector<Vec3f> larger(character_->rest().begin(), character_->rest().end());
  for (Vec3f& p : larger) p *= std::sqrt(2.0f);
  for (const float s : area_stretch(*character_, larger)) EXPECT_NEAR(s, 1, 1e-4);
}

TEST_F(TubePicture, SkeletonIsDrawnOver) {
  const Performer performer(character_);
  const CharacterPicture picture(character_);
  const Pose rest = character_->rest_pose();
  EXPECT_GE(drawn_bones(*character_, performer.welded_positions(), rest).size(), 2u);
  EXPECT_FALSE(picture.render(performer, camera(performer), options_) ==
               picture.render(performer, camera(performer), options_, &rest));
}

TEST_F(TubePicture, FocusIsSomeLimbThicknesses) {
  const double radius = focus_radius(*character_, joint("upper"));  // the tube's radius is 0.2 m
  EXPECT_GT(radius, 2 * 0.2);
  EXPECT_LT(radius, 6 * 0.2);
  EXPECT_NEAR(joint_position(character_->skeleton(), character_->rest_pose(), joint("upper")).norm(), 0,
              1e-6);
  // The first joint of the tube is the mesh's node, which moves nothing.
  for (std::size_t j = 0; j < character_->skeleton().size(); ++j)
    if (!character_->skeleton().joints[j].deforms) {
      EXPECT_THROW(focus_radius(*character_, static_cast<int>(j)), Error);
    }
}

}  // namespace
}  // namespace sinew
