#pragma once

#include <string>

#include <sinew/skeleton/control_rig.h>

namespace sinew::test {

/// Builds rigs line by line. Names stand for bones, so parents come first.
struct RigLines {
  ControlRig rig;

  RigBone& add(const std::string& name, const std::string& parent, const Vec3d& head, const Vec3d& tail,
               bool deforms);
  RigBone& deform(const std::string& name, const std::string& parent, const Vec3d& head, const Vec3d& tail) {
    return add(name, parent, head, tail, true);
  }
  RigBone& control(const std::string& name, const std::string& parent, const Vec3d& head, const Vec3d& tail) {
    return add(name, parent, head, tail, false);
  }
};

RigConstraint constraint(ConstraintKind kind, const std::string& target, const std::string& pole = "",
                         double length = 0);

const RigBone& get(const ControlRig& rig, const std::string& name);
RigBone& get(ControlRig& rig, const std::string& name);

/// Figure 3.16: both legs on a hip, with IK, pole and foot roll.
ControlRig legs();

/// A T-pose arm, its elbow bent a little to the front, with a pole behind it.
ControlRig arm(double down, double bend, double scale);

/// Figure 3.18: a finger of three bones, and a flexor from its root to its last joint.
ControlRig finger(double bend, double scale);

/// As Rigify makes them: DEF copies a tweak, which hangs on ORG, which copies FK and IK chains.
ControlRig generated();

}  // namespace sinew::test
