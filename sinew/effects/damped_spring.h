#pragma once

#include <sinew/core/math.h>

namespace sinew {

/// A point that a damped spring of rest length zero drags behind another.
struct SpringState {
  bool started = false;
  Vec3d stretch = Vec3d::Zero();          ///< u: from the leader to the point
  Vec3d velocity = Vec3d::Zero();         ///< of the stretch
  Vec3d leader = Vec3d::Zero();           ///< where the leader was
  Vec3d leader_velocity = Vec3d::Zero();  ///< when it got there
  /// Its mean velocity over the last frame and over the one before it, and their seconds; 0: there was none
  /// yet.
  Vec3d last_velocity = Vec3d::Zero(), earlier_velocity = Vec3d::Zero();
  double last_seconds = 0, earlier_seconds = 0;
};

/// m a = k (x_s − x_d) + c (v_s − v_d) + m g for a point x_d behind a leader x_s (Larboulette, Cani and
/// Arnaldi 2006, §2.3; g is a vector, so it is added), solved exactly: u = x_d − x_s is the damped oscillator
/// ü + 2 ζω u̇ + ω² u = g − a_s, ω² = k / m, ζω = c / 2m. Stable for any stiffness and step.
///
/// Between two frames the leader goes on the cubic through its last four places, its acceleration changes
/// evenly, and where one cubic gives way to the next the difference of their velocities strikes the spring.
/// Before its first place it is taken to have come along as it goes on: nothing begins with a blow.
/// With parabolas instead frame rates agree three times worse, with straight lines ten times.
class DampedSpring {
 public:
  /// `frequency` in hertz, undamped, positive; `damping` is ζ: 1 comes back as fast as it can without
  /// swinging. Throws Error for others.
  DampedSpring(double frequency, double damping);
  /// From mass, stiffness and damping constant; the first two positive. Throws Error for others.
  static DampedSpring from_constants(double mass, double stiffness, double damping_constant);

  double frequency() const;
  double damping() const { return zeta_; }

  /// Goes on by `seconds` with the leader now at `leader`. `force` is a constant acceleration, such as
  /// gravity. `most` bounds the stretch: at the bound the outward velocity is dropped. What is not finite, no
  /// time at all, and a leader that has leapt farther than `leap` begin anew, at rest.
  void step(SpringState& state, const Vec3d& leader, double seconds, const Vec3d& force, double most,
            double leap) const;

  /// What is to be shown of a state: the stretch, drawn in smoothly so that it stays below `most`. A
  /// `strength` up to 1 shows that share of it; above 1 it multiplies the stretch before that is drawn in, so
  /// that what is shown stays below `most` for any strength.
  Vec3d shown(const SpringState& state, double most, double strength = 1) const;

  /// Kinetic and potential energy per mass, of the stretch.
  double energy(const SpringState& state) const;

 private:
  double omega_ = 0, zeta_ = 0;
};

}  // namespace sinew
