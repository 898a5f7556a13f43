#include <sinew/projection/ray_retreat.h>

#include <cmath>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include <sinew/character/character.h>
#include <sinew/character/performer.h>
#include <sinew/layers/character_fields.h>
#include <sinew/measure/surface_ruler.h>
#include <sinew/projection/contact_projection.h>

#include "tests/reference/iso_projection.h"
#include "tests/reference/ray_retreat.h"
#include "tests/support/grid_tube.h"

namespace sinew {
namespace {

/// A bent tube, a little uneven, so that no ray meets an edge.
class UnevenTube : public ::testing::Test {
 protected:
  static Scene scene() {
    Scene tube = test::make_grid_tube({.rings = 24, .segments = 14});
    std::mt19937 random(7);
    std::uniform_real_distribution<float> number(-0.002f, 0.002f);
    for (Vec3f& p : tube.meshes[0].surface.positions)
      p += Vec3f(number(random), number(random), number(random));
    return tube;
  }
  void bend(double degrees) {
    Performer performer(character_);
    Pose pose = character_->rest_pose();
    pose.joints[1].rotation =
        Quatf(Eigen::AngleAxisf(static_cast<float>(degrees * std::numbers::pi / 180), Vec3f::UnitZ()));
    performer.perform(pose);
    posed_.assign(performer.posed_from_rest().begin(), performer.posed_from_rest().end());
    skinned_.assign(performer.welded_positions().begin(), performer.welded_positions().end());
  }
  MeshView rest() const { return {character_->rest(), character_->triangles()}; }

  std::shared_ptr<const Character> character_ =
      Character::make(scene(), parse_recipe(R"({"normals": false, "layers": ["dqs"]})", "test"));
  CharacterFields fields_ = make_character_fields(*character_, ImplicitOptions());
  std::vector<Affine3d> posed_;
  std::vector<Vec3f> skinned_;
};

TEST_F(UnevenTube, RetreatsAreThoseOfThePlainTwin) {
  // The retreat alone, as it is found.
  ContactParams params;
  params.upright_sweeps = params.retreat_sweeps = params.sweeps = 0;
  const ContactProjection contact(rest(), character_->shared_skin_weights(), fields_.set, params);
  ContactFrame frame = contact.make_frame();
  int retreat = 0;
  for (const double degrees : {100.0, 125.0, 150.0}) {
    bend(degrees);
    std::vector<Vec3f> positions = skinned_;
    contact.project(posed_, frame, positions);
    const std::vector<double> expected =
        reference::ray_retreats(contact.skin(), *fields_.set, params, frame, skinned_);
    for (std::uint32_t v = 0; v < expected.size(); ++v) {
      EXPECT_NEAR(static_cast<double>(frame.retreat[v]), expected[v], 2e-4) << degrees << ' ' << v;
      retreat += expected[v] > 1e-3;
    }
  }
  EXPECT_GT(retreat, 30);
}

// The papers' own projection keeps what it is for, and shows what ours is for: in a deep fold, vertices that
// the base skin has taken across the contact walk out on the wrong side.
TEST_F(UnevenTube, ThePapersProjectionFindsIsoSurfacesAndLosesDeepFolds) {
  const SurfaceRuler ruler(rest(), character_->shared_skin_weights());
  const OneRings rings = one_rings(rest().positions.size(), rest().triangles);
  std::vector<PosedField> at_rest(fields_.set->fields.size()), posed(at_rest.size());
  pose_fields(*fields_.set, std::vector<Affine3d>(character_->bindings().size(), Affine3d::Identity()),
              at_rest);
  const auto project = [&](double degrees) {
    bend(degrees);
    pose_fields(*fields_.set, posed_, posed);
    return reference::iso_projection(*fields_.set, at_rest, posed, rest().positions, skinned_, rings);
  };
  // A mild bend: every vertex but those at the crease has the value that it had at rest.
  const std::vector<Vec3f> mild = project(40);
  std::size_t found = 0;
  for (std::size_t v = 0; v < mild.size(); ++v)
    found += std::abs(sample(*fields_.set, posed, mild[v]).value -
                      sample(*fields_.set, at_rest, rest().positions[v]).value) < 0.02f;
  EXPECT_GT(found, mild.size() * 9 / 10);
  // A deep one.
  const std::vector<Vec3f> papers = project(140);
  const ContactProjection contact(rest(), character_->shared_skin_weights(), fields_.set, {});
  ContactFrame frame = contact.make_frame();
  std::vector<Vec3f> ours = skinned_;
  contact.project(posed_, frame, ours);
  const double before = ruler.measure(skinned_, posed_).new_overlap_volume;
  EXPECT_LT(ruler.measure(ours, posed_).new_overlap_volume, 0.05 * before);
  EXPECT_GT(ruler.measure(papers, posed_).new_overlap_volume,
            2 * ruler.measure(ours, posed_).new_overlap_volume);
}

}  // namespace
}  // namespace sinew
