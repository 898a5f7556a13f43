#include <sinew/measure/performance_ruler.h>

#include <cmath>

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <sinew/character/performer.h>
#include <sinew/core/index.h>
#include <sinew/geometry/vertex_normals.h>
#include <sinew/geometry/winding.h>
#include <sinew/measure/quantities.h>
#include <sinew/models/models.h>
#include <sinew/scene/gltf.h>

#include "tests/support/assets.h"
#include "tests/support/grid_tube.h"
#include "tests/support/sanitized.h"
#include "tests/support/shared_models.h"

namespace sinew {
namespace {

std::shared_ptr<const Character> character(const Scene& scene, const char* method) {
  return Character::make(scene, recipe_for_method(method));
}

MeasureOptions options_for(const Scene& scene, const Clip& clip, int first, int last) {
  MeasureOptions options;
  options.first_frame = first;
  options.last_frame = last;
  options.set_pose = [rest = rest_pose(scene), clip](int frame, Pose& pose) {
    pose = rest;
    sample_clip(clip, frame / 30.0, pose);
  };
  return options;
}

const Clip& clip_named(const Scene& scene, const std::string& name) {
  for (const Clip& clip : scene.clips)
    if (clip.name == name) return clip;
  throw Error("no clip " + name);
}

void expect_finite(const PerformanceMeasurements& measured) {
  for (const FrameMeasurements& frame : measured.frames)
    for (const Quantity& quantity : quantities()) {
      const auto value = quantity.value(frame, measured.rest);
      EXPECT_TRUE(!value || std::isfinite(*value)) << quantity.key << " in frame " << frame.frame;
    }
}

TEST(PerformanceRuler, RestPoseIsAllZeros) {
  const Scene tube = test::make_grid_tube();
  const PerformanceMeasurements measured = measure_performance(character(tube, "lbs"), MeasureOptions{});
  ASSERT_EQ(measured.frames.size(), 1u);
  const SurfaceMeasurements& rest = measured.frames[0].surface;
  EXPECT_EQ(rest.intersecting_pairs, 0u);
  EXPECT_EQ(rest.buried_vertices, 0u);
  EXPECT_EQ(rest.overlap.total(), 0);
  EXPECT_NEAR(rest.volume_ratio, 1, 1e-6);
  EXPECT_LT(rest.area_stretch.rms, 1e-5);
  EXPECT_EQ(rest.flipped_triangles, 0u);
  EXPECT_EQ(rest.flipped_outside_contact, 0u);
  EXPECT_TRUE(rest.joint_volumes.empty());
  EXPECT_LT(rest.curvature_change.value(), 1e-4);
  EXPECT_FALSE(measured.frames[0].flicker.has_value());
  EXPECT_GT(measured.median_seconds, 0);
}

TEST(PerformanceRuler, BentTubeFoldsIntoItself) {
  const Scene tube = test::make_grid_tube();
  const int first = test::kSanitized ? 145 : 0;
  const auto actor = character(tube, "lbs");
  const PerformanceMeasurements measured =
      measure_performance(actor, options_for(tube, clip_named(tube, "bend"), first, 150));
  ASSERT_EQ(measured.frames.size(), to_size(151 - first));
  expect_finite(measured);
  const SurfaceMeasurements& last = measured.frames.back().surface;
  EXPECT_GT(last.new_intersecting_pairs, 10u);
  EXPECT_GT(last.new_buried_vertices, 10u);
  EXPECT_GT(last.depth.largest_share_of_limb, 0.05);
  EXPECT_GT(last.new_overlap_volume, 1e-5);
  EXPECT_EQ(last.overlap.between_parts, 0);
  EXPECT_LT(last.volume_ratio, 1);
  EXPECT_GT(last.edge_stretch.largest, 0.05);
  if (test::kSanitized) return;  // the exact sums below would take minutes
  EXPECT_EQ(measured.frames[20].surface.new_buried_vertices, 0u);
  EXPECT_EQ(measured.frames[20].surface.new_overlap_volume, 0);

  // By another route: the winding number at the points of a grid.
  Performer performer(actor);
  Pose pose = rest_pose(tube);
  sample_clip(clip_named(tube, "bend"), 5.0, pose);
  performer.perform(pose);
  const MeshView bent{performer.welded_positions(), actor->triangles()};
  const std::vector<Vec3d> normals = angle_weighted_normals(bent);
  std::size_t buried = 0;
  for (std::size_t v = 0; v < normals.size(); ++v)
    buried += winding_number(bent, bent.positions[v].cast<double>() + 1e-6 * normals[v]) > 0.5;
  EXPECT_EQ(last.buried_vertices, buried);
  Eigen::AlignedBox3d box;
  for (const Vec3f& p : bent.positions) {
    const bool near_joint = p.norm() < 0.9f;
    if (near_joint) box.extend(p.cast<double>());
  }
  const int cells = 32;
  double overlap = 0;
  const Vec3d cell = box.sizes() / cells;
  for (int i = 0; i < cells * cells * cells; ++i) {
    const Vec3d place(i % cells + 0.5, i / cells % cells + 0.5, i / (cells * cells) + 0.5);
    const double w = winding_number(bent, box.min() + place.cwiseProduct(cell));
    overlap += std::max(0.0, std::round(w) - 1) * cell.prod();
  }
  EXPECT_NEAR(last.overlap.total() / overlap, 1, 0.03);
}

TEST(PerformanceRuler, TumblingAsAWholeIsNeitherFlipNorFlicker) {
  const Scene tube = test::make_grid_tube();
  MeasureOptions options;
  options.last_frame = 6;
  options.set_pose = [rest = rest_pose(tube)](int frame, Pose& pose) {
    pose = rest;
    Transform& root = pose.joints[0];
    const Quatf turn(
        Eigen::AngleAxisf(0.1f * static_cast<float>(frame * frame), Vec3f(1, 2, 3).normalized()));
    root.rotation = (turn * root.rotation).normalized();
    root.translation += Vec3f(0, static_cast<float>(frame * frame), 0);
  };
  const PerformanceMeasurements measured = measure_performance(character(tube, "dqs"), options);
  for (const FrameMeasurements& frame : measured.frames) {
    EXPECT_EQ(frame.surface.flipped_triangles, 0u) << frame.frame;
    EXPECT_EQ(frame.surface.intersecting_pairs, 0u) << frame.frame;
    EXPECT_NEAR(frame.surface.volume_ratio, 1, 1e-4) << frame.frame;
    ASSERT_EQ(frame.flicker.has_value(), frame.frame >= 2);
    if (frame.flicker) {
      EXPECT_LT(frame.flicker->largest, 1e-4) << frame.frame;
    }
  }
}

TEST(PerformanceRuler, AnUnusableJointTakesItsRestAndItsChildrenFollow) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene tube = test::make_grid_tube();
  const std::size_t joints = tube.skeleton.size();
  ASSERT_GE(joints, 2u);
  for (std::size_t broken = 0; broken < (test::kSanitized ? 1 : joints); ++broken) {
    const auto options = [&](bool with_nan) {
      MeasureOptions result;
      result.last_frame = 3;
      result.set_pose = [rest = rest_pose(tube), broken, with_nan](int frame, Pose& pose) {
        pose = rest;
        for (std::size_t j = 0; j < pose.joints.size(); ++j) {
          if (j == broken) continue;
          const Quatf turn(Eigen::AngleAxisf(1.1f * static_cast<float>(frame), Vec3f(1, 2, 3).normalized()));
          pose.joints[j].rotation = (turn * pose.joints[j].rotation).normalized();
        }
        if (with_nan) pose.joints[broken].rotation.coeffs().setConstant(std::nanf(""));
      };
      return result;
    };
    const auto clean = measure_performance(character(tube, "lbs"), options(false));
    const auto mended = measure_performance(character(tube, "lbs"), options(true));
    EXPECT_EQ(mended.rejected_joints, 4u);
    EXPECT_EQ(clean.rejected_joints, 0u);
    for (std::size_t i = 0; i < clean.frames.size(); ++i)
      for (const Quantity& quantity : quantities()) {
        if (quantity.key == "time_ms") continue;
        EXPECT_EQ(quantity.value(mended.frames[i], mended.rest), quantity.value(clean.frames[i], clean.rest))
            << quantity.key << " with joint " << broken;
      }
  }
}

TEST(PerformanceRuler, TwistKeepsVolumeBetterWithDualQuaternions) {
  const Scene tube = test::make_grid_tube();
  const MeasureOptions options = options_for(tube, clip_named(tube, "twist"), 149, 150);
  const auto lbs = measure_performance(character(tube, "lbs"), options);
  const auto dqs = measure_performance(character(tube, "dqs"), options);
  EXPECT_LT(lbs.frames.back().surface.volume_ratio, 0.9);
  EXPECT_GT(dqs.frames.back().surface.volume_ratio, 0.95);
}

TEST(PerformanceRuler, JointVolumeGoesWithLinearBlending) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene tube = test::make_grid_tube();
  double last = 1;
  for (const int degrees : {60, 90, 130}) {
    if (test::kSanitized && degrees == 90) continue;
    const MeasureOptions options = options_for(tube, clip_named(tube, "bend"), degrees, degrees);
    const auto lbs = measure_performance(character(tube, "lbs"), options);
    const auto dqs = measure_performance(character(tube, "dqs"), options);
    ASSERT_EQ(lbs.frames[0].surface.joint_volumes.size(), 1u);
    EXPECT_EQ(lbs.rest.hinges.at(lbs.frames[0].surface.joint_volumes[0].hinge), "upper");
    const double left = lbs.frames[0].surface.joint_volumes[0].ratio;
    EXPECT_LT(left, last - 0.05) << degrees;
    last = left;
    EXPECT_GT(dqs.frames[0].surface.joint_volumes.at(0).ratio, 0.95) << degrees;
  }
  EXPECT_LT(last, 0.7);
}

TEST(PerformanceRuler, RigidPartsKeepTheirCurvature) {
  // Weights pass from one bone to the other within two radii of the joint, and only there shapes change.
  test::GridTubeOptions narrow;
  narrow.blend = 0.3f;
  const Scene tube = test::make_grid_tube(narrow);
  const MeasureOptions options = options_for(tube, clip_named(tube, "bend"), 90, 90);
  const auto rigid = measure_performance(character(tube, "lbs"), options);
  EXPECT_LT(*rigid.frames[0].surface.curvature_change, 1e-3);
  test::GridTubeOptions wide;
  wide.blend = 0.9f;
  const Scene long_bend = test::make_grid_tube(wide);
  const auto bent = measure_performance(character(long_bend, "lbs"), options);
  EXPECT_GT(*bent.frames[0].surface.curvature_change, 0.01);
}

TEST(PerformanceRuler, SkinInContactIsNoDetailLost) {
  test::GridTubeOptions narrow;
  narrow.blend = 0.3f;
  const Scene tube = test::make_grid_tube(narrow);
  const auto bent = character(tube, "implicit");
  const MeasureOptions options = options_for(tube, clip_named(tube, "bend"), 130, 130);
  const auto measured = measure_performance(bent, options);
  // All that is two radii from the joint, contact or not.
  Performer performer(bent);
  Pose pose = bent->rest_pose();
  sample_clip(clip_named(tube, "bend"), 130 / 30.0, pose);
  performer.perform(pose);
  std::vector<std::uint8_t> near(bent->rest().size());
  for (std::size_t v = 0; v < near.size(); ++v) near[v] = bent->rest()[v].norm() <= 0.4f;
  const CurvatureMeter meter({bent->rest(), bent->triangles()});
  const double all = meter.change(performer.welded_positions(), near).value().rms;
  EXPECT_GT(all, 0.03);
  EXPECT_LT(measured.frames[0].surface.curvature_change.value(), all / 2);
}

TEST(PerformanceRuler, WeightsOfTheBuiltInTubeLeaveNoRing) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const Scene tube = test::shared_model("tube").scene;
  MeasureOptions options = options_for(tube, clip_named(tube, "bend"), 0, 0);
  options.set_pose = [rest = rest_pose(tube), &tube](int, Pose& pose) {
    pose = rest;
    Quatf& joint = pose.joints[to_size(tube.skeleton.find("upper"))].rotation;
    joint = joint * Quatf(Eigen::AngleAxisf(1.05f, Vec3f::UnitZ()));
  };
  // 2.5 % with a kink where the weights end.
  EXPECT_LT(measure_performance(character(tube, "dqs"), options).frames[0].surface.curvature_change.value(),
            0.01);
}

TEST(PerformanceRuler, FiguresDoNotDependOnThreads) {
  const Scene tube = test::make_grid_tube();
  const MeasureOptions options = options_for(tube, clip_named(tube, "bend"), 140, 143);
  const auto many = measure_performance(character(tube, "lbs"), options);
  const tbb::global_control one(tbb::global_control::max_allowed_parallelism, 1);
  const auto single = measure_performance(character(tube, "lbs"), options);
  for (std::size_t i = 0; i < many.frames.size(); ++i)
    for (const Quantity& quantity : quantities()) {
      if (quantity.key == "time_ms") continue;
      EXPECT_EQ(quantity.value(many.frames[i], many.rest), quantity.value(single.frames[i], single.rest))
          << quantity.key;
    }
}

TEST(PerformanceRuler, ReportsProgressAndStops) {
  const Scene tube = test::make_grid_tube();
  double last = -1;
  const MeasureOptions options = options_for(tube, clip_named(tube, "bend"), 0, test::kSanitized ? 5 : 40);
  measure_performance(character(tube, "lbs"), options, [&](double share) {
    EXPECT_GE(share, last);
    last = share;
    return true;
  });
  EXPECT_EQ(last, 1);
  EXPECT_THROW(measure_performance(character(tube, "lbs"), options, [](double) { return false; }), Cancelled);
}

TEST(PerformanceRuler, RealCharactersGiveNumbers) {
  for (const char* name : {"fox.glb", "rigged_figure.glb"}) {
    const auto path = test::asset(name);
    if (!path) GTEST_SKIP() << test::missing_asset(name);
    const Scene scene = read_gltf(*path);
    for (const char* method : {"lbs", "dqs"}) {
      const auto measured =
          measure_performance(character(scene, method), options_for(scene, scene.clips[0], 0, 9));
      expect_finite(measured);
      EXPECT_EQ(measured.frames.size(), 10u);
      EXPECT_TRUE(measured.rest.volume_known) << name;
      EXPECT_GT(measured.frames[5].surface.edge_stretch.rms, 0) << name;
    }
  }
}

TEST(PerformanceRuler, HumanCrouchesIntoItself) {
  if (test::kSanitized) GTEST_SKIP() << "too slow here";
  const auto path = test::asset("human.glb");
  if (!path) GTEST_SKIP() << test::missing_asset("human.glb");
  const Scene scene = read_gltf(*path);
  const auto measured =
      measure_performance(character(scene, "lbs"), options_for(scene, clip_named(scene, "crouch"), 59, 59));
  EXPECT_EQ(measured.rest.intersecting_pairs, 0u);
  EXPECT_EQ(measured.rest.buried_vertices, 0u);
  EXPECT_GT(measured.frames[0].surface.new_buried_vertices, 300u);
  EXPECT_GT(measured.frames[0].surface.new_overlap_volume, 1.5e-3);
  EXPECT_LT(measured.frames[0].surface.new_overlap_volume, 2.2e-3);
}

TEST(Quantities, SummaryNamesTheWorstFrame) {
  PerformanceMeasurements measured;
  measured.rest.volume_known = true;
  measured.rest.volume = 1;
  measured.rest.mean_edge = 0.1;
  for (int i = 0; i < 4; ++i) {
    FrameMeasurements frame;
    frame.frame = 10 + i;
    frame.surface.new_intersecting_pairs = to_size(i == 2 ? 9 : 1);
    frame.surface.volume_ratio = i == 1 ? 0.7 : 1.1;
    frame.surface.edge_stretch.smallest = i == 3 ? -0.5 : -0.1;
    frame.surface.new_overlap_volume = i == 0 ? 0.25 : 0;
    frame.surface.depth.known = i < 2;
    frame.surface.depth.mean = 0.001 * i;
    if (i >= 2) frame.flicker = Flicker{0.01 * i, 0.1};
    frame.surface.flipped_triangles = 7;
    frame.surface.flipped_outside_contact = to_size(i);
    if (i >= 1) frame.surface.joint_volumes = {{4, 0.9}, {2, i == 2 ? 0.6 : 0.8}, {3, 1.3}};
    if (i >= 1) frame.surface.curvature_change = 0.01 * i, frame.surface.curvature_mean_change = -0.02 * i;
    measured.frames.push_back(frame);
  }
  const auto summaries = summarise(measured);
  ASSERT_EQ(summaries.size(), quantities().size());
  const auto find = [&](std::string_view key) {
    for (std::size_t q = 0; q < summaries.size(); ++q)
      if (quantities()[q].key == key) return summaries[q];
    ADD_FAILURE() << key;
    return summaries[0];
  };
  EXPECT_EQ(find("pairs_new")->worst_frame, 12);
  EXPECT_EQ(find("pairs_new")->mean, 3);
  EXPECT_EQ(find("volume_percent")->worst_frame, 11);
  EXPECT_EQ(find("edge_stretch_smallest_percent")->worst, -50);
  EXPECT_EQ(find("overlap_new_percent")->worst, 25);
  EXPECT_NEAR(find("depth_mean_mm")->mean, 0.5, 1e-12);
  EXPECT_NEAR(find("flicker_rms_percent")->worst, 30, 1e-9);
  EXPECT_NEAR(find("flicker_rms_mm")->mean, 25, 1e-9);
  EXPECT_NEAR(find("joint_volume_smallest_percent")->worst, 60, 1e-9);
  EXPECT_EQ(find("joint_volume_smallest_percent")->worst_frame, 12);
  EXPECT_NEAR(find("joint_volume_smallest_percent")->mean, 220.0 / 3, 1e-9);
  EXPECT_EQ(smallest_joint_volume(measured.frames[0].surface), nullptr);
  EXPECT_EQ(smallest_joint_volume(measured.frames[3].surface)->hinge, 2u);
  EXPECT_EQ(find("flipped")->worst, 7);
  EXPECT_EQ(find("flipped_outside_contact")->worst, 3);
  EXPECT_NEAR(find("curvature_change_rms_percent")->worst, 3, 1e-9);
  EXPECT_NEAR(find("curvature_change_rms_percent")->mean, 2, 1e-9);
  EXPECT_NEAR(find("curvature_mean_change_percent")->worst, 6, 1e-9);
  // What cannot be compared with the rest is unknown, and so is what compares with a base skin when there is
  // none; what belongs to the frame is not.
  const auto compares = [](std::string_view key) {
    return key.starts_with("pops") || key.starts_with("steps") || key.starts_with("gap") ||
           key.starts_with("pose_deviation") || key == "pairs_new" || key.starts_with("overlap_new");
  };
  for (FrameMeasurements& frame : measured.frames) frame.surface.new_pairs_known = false;
  const auto unknown = summarise(measured);
  for (std::size_t q = 0; q < unknown.size(); ++q) {
    const std::string_view key = quantities()[q].key;
    EXPECT_EQ(unknown[q].has_value(), !compares(key)) << key;
  }
  // The first frame has neither flicker nor a hinge that bends.
  measured.frames.resize(1);
  const auto first = summarise(measured);
  for (std::size_t q = 0; q < first.size(); ++q) {
    const std::string_view key = quantities()[q].key;
    if (key.starts_with("flicker") || key.starts_with("joint_volume") || key.starts_with("curvature")) {
      EXPECT_FALSE(first[q].has_value()) << key;
    }
  }
}

}  // namespace
}  // namespace sinew
