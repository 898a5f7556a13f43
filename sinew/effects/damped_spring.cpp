#include <sinew/effects/damped_spring.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

// Share of the largest stretch up to which nothing is drawn in.
constexpr double kLinear = 0.6;

/// The homogeneous solution after some time: u ↦ p u + q v, v ↦ r u + s v.
struct Response {
  double p, q, r, s;
};

Response response(double omega, double zeta, double t) {
  const double decay = zeta * omega;
  const double inside = 1 - zeta * zeta;
  double even, odd;  // e^{−ζωt} cos(ω_d t) and e^{−ζωt} sin(ω_d t) / ω_d, or their hyperbolic counterparts
  if (std::abs(inside) < 1e-9) {
    even = std::exp(-decay * t);
    odd = t * even;
  } else if (inside > 0) {
    const double omega_d = omega * std::sqrt(inside);
    even = std::exp(-decay * t) * std::cos(omega_d * t);
    odd = std::exp(-decay * t) * std::sin(omega_d * t) / omega_d;
  } else {
    const double omega_d = omega * std::sqrt(-inside);
    // Of the two rates the slow one is ω² over the fast one: their difference would cancel out.
    const double fast = decay + omega_d, slow = omega * omega / fast;
    even = (std::exp(-slow * t) + std::exp(-fast * t)) / 2;
    odd = (std::exp(-slow * t) - std::exp(-fast * t)) / (2 * omega_d);
  }
  return {even + decay * odd, odd, -omega * omega * odd, even - decay * odd};
}

}  // namespace

DampedSpring::DampedSpring(double frequency, double damping)
    : omega_(2 * std::numbers::pi * frequency), zeta_(damping) {
  if (!(frequency > 0) || !std::isfinite(omega_ * omega_))
    throw Error(fmt::format("a spring's frequency must be positive, not {}", frequency));
  if (!(damping >= 0) || !std::isfinite(damping * omega_))
    throw Error(fmt::format("a spring's damping must be 0 or more, not {}", damping));
}

DampedSpring DampedSpring::from_constants(double mass, double stiffness, double damping_constant) {
  if (!(mass > 0) || !(stiffness > 0) || !(damping_constant >= 0))
    throw Error(
        fmt::format("a spring wants mass and stiffness above 0 and damping of 0 or more, not {}, {} and {}",
                    mass, stiffness, damping_constant));
  const double omega = std::sqrt(stiffness / mass);
  return {omega / (2 * std::numbers::pi), damping_constant / (2 * mass * omega)};
}

double DampedSpring::frequency() const {
  return omega_ / (2 * std::numbers::pi);
}

void DampedSpring::step(SpringState& state, const Vec3d& leader, double seconds, const Vec3d& force,
                        double most, double leap) const {
  const Vec3d rest = force / (omega_ * omega_);
  const bool usable = seconds > 0 && std::isfinite(seconds) && leader.allFinite() && force.allFinite();
  if (!state.started || !usable || !((leader - state.leader).norm() <= leap)) {
    if (state.started && seconds == 0 && leader == state.leader) return;
    state = {};
    state.started = leader.allFinite();
    state.leader = leader;
    if (force.allFinite()) state.stretch = rest;
    return;
  }
  const Vec3d mean = (leader - state.leader) / seconds;
  // A clip that begins in the midst of a run does not begin with a blow: it went on like that before.
  if (!(state.last_seconds > 0)) state.last_velocity = state.earlier_velocity = state.leader_velocity = mean;
  // The cubic through the last four places: accelerations of the parabolas through three of them (divided
  // differences), and how fast they change.
  const double last = state.last_seconds > 0 ? state.last_seconds : seconds;
  const double earlier = state.earlier_seconds > 0 ? state.earlier_seconds : last;
  const Vec3d before = 2 * (state.last_velocity - state.earlier_velocity) / (last + earlier);
  const Vec3d now = 2 * (mean - state.last_velocity) / (seconds + last);
  const Vec3d jerk = 3 * (now - before) / (seconds + last + earlier);
  const Vec3d start = mean - now * (seconds / 2) - jerk * (last * seconds / 6);
  const Vec3d end = mean + now * (seconds / 2) + jerk * ((last + seconds) * seconds / 6);
  const Vec3d acceleration = now + jerk * ((last - seconds) / 3);  // at the start of this frame
  // ü + 2ζω u̇ + ω² u = force − acceleration − jerk · t has the solution middle + drift · t.
  const double stiffness = omega_ * omega_;
  const Vec3d drift = -jerk / stiffness;
  const Vec3d middle = (force - acceleration - 2 * zeta_ * omega_ * drift) / stiffness;
  const Vec3d u = state.stretch - middle, v = state.velocity - (start - state.leader_velocity) - drift;
  const Response after = response(omega_, zeta_, seconds);
  state.stretch = middle + drift * seconds + after.p * u + after.q * v;
  state.velocity = drift + after.r * u + after.s * v;
  state.leader = leader;
  state.leader_velocity = end;
  state.earlier_velocity = state.last_velocity;
  state.earlier_seconds = state.last_seconds;
  state.last_velocity = mean;
  state.last_seconds = seconds;
  const double length = state.stretch.norm();
  if (length > most) {
    const Vec3d outwards = state.stretch / length;
    state.stretch = most * outwards;
    state.velocity -= std::max(0.0, outwards.dot(state.velocity)) * outwards;
  }
  if (!state.stretch.allFinite() || !state.velocity.allFinite()) {
    state = {};
    state.started = true;
    state.leader = leader;
  }
}

Vec3d DampedSpring::shown(const SpringState& state, double most, double strength) const {
  const double share = std::min(strength, 1.0);
  const Vec3d stretch = std::max(strength, 1.0) * state.stretch;
  const double length = stretch.norm();
  const double linear = kLinear * most;
  if (!(length > linear)) return share * stretch;
  // Bends towards `most` with the same slope, and never goes beyond it.
  const double left = most - linear;
  const double drawn_in = left > 0 ? linear + left * std::tanh((length - linear) / left) : linear;
  return share * (stretch * (drawn_in / length));
}

double DampedSpring::energy(const SpringState& state) const {
  return (state.velocity.squaredNorm() + omega_ * omega_ * state.stretch.squaredNorm()) / 2;
}

}  // namespace sinew
