#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/geometry/mesh.h>

namespace sinew {

/// A surface some of whose triangles are split into 4^level. The vertices of the surface come first,
/// unchanged; new ones follow. They and their stencils are the same for any order and rotation of the
/// triangles.
struct RefinedSurface {
  std::size_t original_vertices = 0;
  /// Per new vertex, the ends of the edge it halves, ascending; both smaller than its own number.
  std::vector<std::array<std::uint32_t, 2>> parents;
  /// Stencils in compact storage, per new vertex. Sources are ascending and smaller than the new vertex'
  /// number; weights are not 0 and sum to 1.
  std::vector<std::uint32_t> starts{0};
  std::vector<std::uint32_t> sources;
  std::vector<double> weights;
  std::vector<Triangle> triangles;              ///< with the winding of those they came from
  std::vector<std::uint32_t> triangle_sources;  ///< per triangle, the input triangle it lies in; ascending

  std::size_t size() const { return original_vertices + parents.size(); }

  /// Computes the new vertices' values of a field from the original ones', in order. `values`: a vector, span
  /// or the like of size() values that can be added and multiplied by a number (double, Vec3f, Vec3d); those
  /// of the original vertices are read and kept.
  template <class Values>
  void interpolate(Values&& values) const {
    assert(values.size() == size());
    for (std::size_t i = 0; i < parents.size(); ++i) {
      auto sum = weighted(values[sources[starts[i]]], weights[starts[i]]);
      for (std::uint32_t s = starts[i] + 1; s < starts[i + 1]; ++s)
        sum = sum + weighted(values[sources[s]], weights[s]);
      values[original_vertices + i] = sum;
    }
  }

  /// The original vertices' values followed by those of the new ones.
  template <class Value>
  std::vector<Value> extended(std::vector<Value> values) const {
    assert(values.size() == original_vertices);
    values.resize(size());
    interpolate(values);
    return values;
  }

 private:
  // Eigen's vectors are only multiplied by numbers of their own type.
  template <class Value>
  static Value weighted(const Value& value, double weight) {
    if constexpr (requires { typename Value::Scalar; })
      return value * static_cast<typename Value::Scalar>(weight);
    else
      return static_cast<Value>(value * weight);
  }
};

/// The largest level a triangle can be asked for.
inline constexpr std::uint8_t kMaxButterflyLevel = 6;

/// Refines a surface where it is asked for, by the modified butterfly scheme (Dyn, Levin, Gregory 1990, "A
/// butterfly subdivision scheme for surface interpolation with tension control"; Zorin, Schröder, Sweldens
/// 1996, "Interpolating subdivision for meshes with arbitrary topology"). The limit surface goes through the
/// vertices and is smooth away from borders and creases.
///
/// levels: per triangle, how often its edges are to be halved. They are raised until triangles that share a
/// vertex differ by at most one. Where they differ, the coarser triangle is cut in two to four so that no
/// edge is halved on one side only: an edge has as many triangles as the one it is a part of.
///
/// creases: edges across which the surface is not smooth. Like borders and edges with three or more
/// triangles they are halved by the four-point rule along the crease, and no stencil reaches across. A crease
/// ends, and so does its rule's reach, at vertices where other than two such edges meet. {v, v} makes v such
/// a vertex: a corner of the border or the tip of a cone. Without it a border is smooth where it turns, like
/// at the corners of a grid. Pairs that are no edge are ignored.
///
/// Takes any triangles whose corners are smaller than `vertex_count`. Those with two equal corners are passed
/// through as they are, whatever their level. The same vertices twice, in either winding, are both refined
/// and count once in stencils, which do not depend on winding. Throws Error when a level is larger than
/// kMaxButterflyLevel or the result would have more than 2^28 triangles.
RefinedSurface refine_butterfly(std::size_t vertex_count, std::span<const Triangle> triangles,
                                std::span<const std::uint8_t> levels,
                                std::span<const std::array<std::uint32_t, 2>> creases = {});

}  // namespace sinew
