#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/incidence.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// Area-weighted normals of one surface, frame after frame. A slot is one output normal: the caller says for
/// every triangle corner which slot it shows, so that hard edges stay hard. Immutable once made; several
/// threads may compute at once, each with its own scratch.
class NormalSolver {
 public:
  /// `corner_slots` has one entry per triangle, with the slots of its three corners; each below `slot_count`.
  /// Pass `triangles` itself for one smooth normal per vertex.
  NormalSolver(std::span<const Triangle> triangles, std::span<const Triangle> corner_slots,
               std::size_t slot_count);

  std::size_t slot_count() const { return incidence_.size(); }
  /// Entries of scratch that compute() needs.
  std::size_t scratch_size() const { return triangles_.size(); }

  /// Writes one unit normal per slot. A slot whose triangles have no area, cancel out, or hold a position
  /// that is not finite gets `fallback`, a unit vector. Any finite positions are fine, however small or
  /// large. Runs in parallel, allocates nothing.
  void compute(std::span<const Vec3f> positions, std::span<Vec4f> scratch, std::span<Vec3f> out,
               const Vec3f& fallback = Vec3f::UnitY()) const;

 private:
  Vec3f slow_normal(std::size_t slot, std::span<const Vec3f> positions, const Vec3f& fallback) const;

  std::vector<Triangle> triangles_;
  Incidence incidence_;  // per slot; corners hold triangle numbers
};

}  // namespace sinew
