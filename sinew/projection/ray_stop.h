#pragma once

#include <span>

namespace sinew {

/// A piece of a vertex's ray that runs through two bodies at once. The ray goes from its bone (0) to where
/// the base skin has the vertex (1).
struct OverlapRun {
  static constexpr int kMostSamples = 16;

  float from = 0, to = 0;
  /// At the middles of `samples` equal pieces: how far the vertex is on its own side there, negative beyond
  /// the contact.
  float side[kMostSamples] = {};
};

/// Where a vertex stops on its ray: softly at the first crossing from its own side to another. What is left
/// of it, T, falls as T' = −clamp(½ − side / width) / fade where runs are beyond the contact, from T = 1 at
/// the bone to no less than 0; it stops at t* = ∫ T dt, which is 1 without runs. An integral, never a choice:
/// where pieces come and go they do so from no length. `width` is in field values, `fade` a share of the ray.
float soft_first_crossing(std::span<const OverlapRun> runs, int samples, float width, float fade);

/// The same where only runs that hold the vertex, or end near it, count wholly: skin that is out on the other
/// side of something near its bone stays there. A run that ends `beyond` before the vertex counts
/// 1 − beyond / reach; both are shares of the ray.
float stop_on_ray(std::span<const OverlapRun> runs, int samples, float width, float fade, float reach);

}  // namespace sinew
