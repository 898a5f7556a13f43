#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sinew/skeleton/control_rig.h>

namespace sinew {

/// The axes of scene space.
inline const Vec3d kX = Vec3d::UnitX(), kY = Vec3d::UnitY(), kZ = Vec3d::UnitZ();

/// The middle joint of a limb from `root` to `end`, at `share` of its length, when the limb is bent there by
/// `degrees` (small), towards `pole`.
Vec3d bent_joint(const Vec3d& root, const Vec3d& end, double share, double degrees, const Vec3d& pole);

/// The axis about which a limb with these joints closes: normal of its plane.
Vec3d hinge_axis(const Vec3d& root, const Vec3d& middle, const Vec3d& end);

/// Builds a template rig: middle and left side by hand, the right side by mirroring. Bones are given by name;
/// a name that does not exist fails an assert.
class TemplateBuilder {
 public:
  explicit TemplateBuilder(std::string name) { rig_.name = std::move(name); }

  /// A bone that moves skin. `parent` may be empty. The bone's x axis is `flex`, made orthogonal to it.
  void bone(const std::string& name, std::string_view parent, const Vec3d& head, const Vec3d& tail,
            const Vec3d& flex);
  /// A controller.
  void control(const std::string& name, std::string_view parent, const Vec3d& head, const Vec3d& tail,
               const Vec3d& flex);
  /// A controller that lies on `bone`, with its axes.
  void control_on(const std::string& name, std::string_view parent, std::string_view bone);

  /// `lower` and its parent reach for the head of `target`. Adds the pole, `distance` metres from the middle
  /// joint on the side it points to, a child of `parent`.
  void ik(std::string_view lower, std::string_view target, const std::string& pole, std::string_view parent,
          double distance);
  /// `bone` turns as `target` does; `local`: by as much as the target has turned from its rest.
  void copy_rotation(std::string_view bone, std::string_view target, double influence, bool local);
  /// `bone` turns its `axis` ("x", "y" or "z") towards `target`.
  void damped_track(std::string_view bone, std::string_view target, double influence, std::string_view axis);
  /// Turns about the bone's own axes, in degrees.
  void limit_rotation(std::string_view bone, const Vec3d& least, const Vec3d& most);
  /// A controller from the head of the first bone to the tail of the last, which bends them all: a flexor.
  /// They form a chain; `influences` has one entry per bone.
  void flexor(const std::string& name, std::string_view parent, const std::vector<std::string>& chain,
              std::span<const double> influences);

  const RigBone& at(std::string_view name) const { return rig_.bones[index_of(name)]; }

  /// Adds the right side and the angles of poles.
  ControlRig finish() const;

 private:
  std::size_t index_of(std::string_view name) const;
  void add(const std::string& name, std::string_view parent, const Vec3d& head, const Vec3d& tail,
           double roll, bool deforms);

  ControlRig rig_;
};

}  // namespace sinew
