#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <sinew/core/held_bytes.h>
#include <sinew/core/index.h>
#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>
#include <sinew/skinning/linear_blend.h>
#include <sinew/skinning/packed_weights.h>
#include <sinew/skinning/weights.h>

namespace sinew {

/// A chain of joints that vertices follow as a smooth curve. Joints are numbered as in the weights; places
/// are in rest space, so that posed_from_rest[joints[i]] * places[i] is the posed joint. The vertices of a
/// joint that several chains have follow the first of them.
struct CurveChain {
  std::vector<std::uint32_t> joints;  ///< from root to tip, at least one
  std::vector<Vec3d> places;          ///< one per joint; neighbours may coincide
  Vec3d tip = Vec3d::Zero();          ///< where the last joint's bone ends; moves with it
};

/// A place on a curve: `share` of the way from one sample to the next.
struct CurvePlace {
  std::size_t sample = 0;
  double share = 0;
};

/// A curve through the joints of a chain and its tip, in samples, with the motion that each pose gives to
/// the space around each sample.
///
/// Between the joints it is a Catmull-Rom spline whose knots are those of the rest curve (centripetal, which
/// makes no loops or cusps): every sample is then a fixed blend of four joints, and any affine motion of the
/// joints moves the curve by it. It leaves the first joint along that joint's bone, as the skin before it
/// does.
class SkinCurve {
 public:
  /// `samples` per bone, at least 2. Throws Error when all places and the tip coincide.
  SkinCurve(const CurveChain& chain, int samples);

  std::size_t sample_count() const { return samples_.size(); }
  /// Points of the rest curve, one per sample.
  std::span<const Vec3d> rest_points() const { return rest_points_; }
  /// The sample at a joint of the chain; the joint after the last is the tip.
  std::size_t sample_of_joint(std::size_t number) const {
    return knot_of_joint_[number] * to_size(samples_per_bone_);
  }
  /// The point of the rest curve nearest to `p`, between two samples.
  CurvePlace nearest(const Vec3d& p, std::size_t first, std::size_t last) const;

  /// Scratch of pose(), sized by make_scratch().
  struct Scratch {
    std::vector<Vec3d> points, tangents, normals;
    std::vector<Vec3d> knots;
    std::vector<Quatd> rotations;  ///< of the knots' joints
    std::vector<Mat3d> stretches;
    std::vector<double> twists, slopes;
    std::size_t bytes() const {
      return held_bytes(points, tangents, normals, knots, rotations, stretches, twists, slopes);
    }
  };
  Scratch make_scratch() const;

  /// Per sample, the motion F'(t) F(t)⁻¹ of the curve's frame from rest to this pose (Vaillant 2015, §2.1.3,
  /// eq. 2.5). Frames are rotation-minimising (double reflection, Wang et al. 2008), which do not flip where
  /// a curve inflects, turned about the tangent so that at each joint they have that joint's roll; in between
  /// the roll changes smoothly, the short way round from joint to joint. What the joints scale and shear is
  /// blended along the curve. Allocates nothing.
  void pose(std::span<const Affine3d> posed_from_rest, Scratch& scratch, std::span<Affine3d> motions) const;

 private:
  // A knot is a joint, or several that coincide at rest: then the last of them.
  struct Knot {
    std::uint32_t joint;
    Vec3d place;
  };
  // The point and the tangent are blends of four knots from `first` on.
  struct Sample {
    std::size_t first;
    double point[4];
    double tangent[4];
    std::size_t bone;  // from knot `bone` to the next …
    double along;      // … and how far, 0 to 1
  };
  Sample sample_at(std::size_t bone, double along) const;
  void evaluate(std::span<const Vec3d> knots, const Sample& sample, Vec3d& point, Vec3d& tangent) const;

  std::vector<Knot> knots_;                 // the last is the tip
  std::vector<std::size_t> knot_of_joint_;  // and of the tip
  std::vector<double> spacing_;             // between knots, of the spline's parameter
  int samples_per_bone_;
  std::vector<Vec3d> rest_knots_;
  std::vector<Sample> samples_;
  std::vector<Vec3d> rest_points_, rest_tangents_, rest_normals_;
};

/// Curve skeletons (Vaillant 2015, §2.1.3): v = (1 − w²) v' + w Σ w_c F_c'(t) F_c(t)⁻¹ p, with w_c the sum of
/// the vertex's weights on the chain's joints, w their sum and v' where the vertex was: the bones' work.
/// Differs from eq. 2.5, which blends by w: v' has the chain's joints in it already.
///
/// t is the parameter of the nearest point of the curve among the bones that the vertex has weights on, so
/// that a curled tail does not bind to its neighbouring turn. Where a curve bends more sharply at rest than
/// its skin is thick, nearest points jump from one side of the bend to the other: there t is spread evenly
/// over the vertices. At rest every t gives the vertex back.
class CurveSkeleton {
 public:
  /// `surface` is the rest surface, one row of weights per vertex. Throws Error when a chain has no length.
  CurveSkeleton(const MeshView& surface, const SkinWeights& weights, std::span<const CurveChain> chains);

  std::span<const SkinCurve> curves() const { return curves_; }
  /// Vertices that follow curves, with the share of each that does, in (0, 1].
  std::span<const std::uint32_t> vertices() const { return vertices_; }
  std::span<const float> shares() const { return shares_; }
  /// One row per vertex of vertices(): the samples it lies between, counted through all curves, summing to 1.
  const SkinWeights& samples() const { return sample_rows_; }

  struct Scratch {
    std::vector<SkinCurve::Scratch> curves;
    std::vector<Affine3d> motions;
    std::vector<SkinMatrix> matrices;
    std::vector<Vec3f> rest, posed;
    std::size_t bytes() const {
      std::size_t sum = held_bytes(curves, motions, matrices, rest, posed);
      for (const SkinCurve::Scratch& curve : curves) sum += curve.bytes();
      return sum;
    }
  };
  Scratch make_scratch() const;

  /// Moves `positions` to where the curves carry `rest`, by the vertices' shares. Allocates nothing; the same
  /// bits for any number of threads.
  void deform(std::span<const Vec3f> rest, std::span<const Affine3d> posed_from_rest, Scratch& scratch,
              std::span<Vec3f> positions) const;

 private:
  std::vector<SkinCurve> curves_;
  std::vector<std::size_t> first_sample_;  // per curve
  std::size_t sample_count_ = 0;
  std::vector<std::uint32_t> vertices_;
  std::vector<float> shares_;
  SkinWeights sample_rows_;
  PackedWeights packed_rows_;
};

}  // namespace sinew
