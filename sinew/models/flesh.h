#pragma once

#include <vector>

#include <sinew/core/index.h>
#include <sinew/core/math.h>
#include <sinew/geometry/isosurface.h>

namespace sinew {

/// A body as a solid: rounded shapes that melt into each other. Lengths in metres.
///
/// Shapes stand in groups, groups in groups; each is joined to what was added before it to its group by a
/// smooth union over `blend` metres (polynomial smooth minimum: exact outside the blend). So a finger can be
/// soft in itself and yet meet its neighbour in a crease.
class Flesh {
 public:
  /// How a shape is joined, and whose flesh it is.
  struct Joining {
    int group = 0;            ///< 0 is the whole body
    double blend = 0.01;      ///< metres
    std::vector<int> joints;  ///< it belongs to the nearest of these (see Rig)
  };

  Flesh();

  /// A group within `parent`, joined to it over `blend`. Gives its number.
  int add_group(int parent, double blend);
  /// Two spheres and the cone round them.
  void add_cone(const Joining& joining, const Vec3d& a, double radius_a, const Vec3d& b, double radius_b);
  /// `axes` holds the directions of the three radii in its columns, orthonormal.
  void add_ellipsoid(const Joining& joining, const Vec3d& centre, const Vec3d& radii,
                     const Mat3d& axes = Mat3d::Identity());
  void add_sphere(const Joining& joining, const Vec3d& centre, double radius) {
    add_ellipsoid(joining, centre, Vec3d::Constant(radius));
  }
  /// Takes an ellipsoid away from what its group holds.
  void carve_ellipsoid(const Joining& joining, const Vec3d& centre, const Vec3d& radii,
                       const Mat3d& axes = Mat3d::Identity());
  /// Takes away what lies beyond the plane: points p with (p - point) · outward > 0. `outward` has unit
  /// length.
  void carve_beyond(const Joining& joining, const Vec3d& point, const Vec3d& outward);

  /// For the mesher. Edges wanted follow the thickness of the limb, softened (thickness^0.75): a finger gets
  /// enough edges round without drowning the trunk in vertices. Valid as long as the flesh lives.
  SolidFunction solid() const;
  SolidSample sample(const Vec3d& p) const;
  /// The joints of the shape that is deepest at p.
  const std::vector<int>& joints_at(const Vec3d& p) const;
  /// Radius of the limb near p.
  double thickness(const Vec3d& p) const;

 private:
  enum class Form { cone, ellipsoid, plane };
  struct Shape {
    Form form;
    bool carves = false;
    double blend;
    Vec3d a, b;                         // cone: ends; ellipsoid: centre, radii; plane: point, outward
    double radius_a = 0, radius_b = 0;  // ellipsoid: the mean radius, 0
    Mat3d axes = Mat3d::Identity();
    std::vector<int> joints;
    Vec3d bound_centre = Vec3d::Zero();
    double bound_radius = 0;  // infinite for planes
  };
  struct Part {
    bool is_group;
    int number;
  };
  struct Group {
    double blend = 0;
    std::vector<Part> parts;  // in the order in which they are joined
    std::vector<int> cuts;    // shapes that are taken away in the end
    double largest_blend = 0;
    Vec3d bound_centre = Vec3d::Zero();
    double bound_radius = -1;
  };
  struct Sample {
    double value;
    Vec3d gradient;
    double thickness;
  };

  static Sample sample(const Shape& shape, const Vec3d& p);
  Sample sample(const Group& group, const Vec3d& p) const;
  const Shape& shape_at(const Part& part) const { return shapes_[to_size(part.number)]; }
  const Group& group_at(const Part& part) const { return groups_[to_size(part.number)]; }
  void add(Shape shape, const Joining& joining);
  void deepest(const Group& group, const Vec3d& p, double& best, const Shape*& winner) const;

  std::vector<Shape> shapes_;
  std::vector<Group> groups_;
  std::vector<int> parents_;
};

}  // namespace sinew
