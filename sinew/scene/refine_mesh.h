#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sinew/scene/scene.h>

namespace sinew {

/// How values at the vertices of a refined mesh follow from those at the file's vertices, such as positions
/// in a pose. Places are points of the file's surface, whatever vertices lie there; new ones have stencils
/// over earlier ones.
struct RefinementStencils {
  std::size_t file_vertices = 0;
  std::vector<std::uint32_t> place_vertex;  ///< per place of the file, a vertex that lies there
  std::vector<std::uint32_t> starts{0};     ///< per new place, its stencil
  std::vector<std::uint32_t> sources;       ///< places with smaller numbers
  std::vector<float> weights;
  /// A new vertex: in the place `first`, or, where the file's vertices in one place move apart, half-way
  /// between the vertices `first` and `second`.
  struct Added {
    std::uint32_t first = 0, second = 0;
    bool between = false;
  };
  std::vector<Added> added;

  std::size_t places() const { return place_vertex.size() + starts.size() - 1; }
  std::size_t vertices() const { return file_vertices + added.size(); }

  /// `values` holds those of the file's vertices, and room for the new ones; `places` is scratch.
  template <class Value>
  void apply(std::span<Value> values, std::span<Value> places) const;
};

/// The mesh with some triangles halved, `levels[t]` times for triangle t of its surface (and as often for
/// their neighbours as butterfly.h needs). The file's vertices, UVs and normals come first and in their
/// order, new ones after them. New positions, morph displacements and skin weights are the modified
/// butterfly's, over the surface as it hangs together across UV seams, but for ripples of more than a
/// fiftieth of an edge, which its normals do not bear out; UVs, normals and attributes are those halfway
/// along the edge. Polygons of which no triangle changes stay as they are, others become triangles. Edges at
/// which the file's normals turn by more than 30° stay creases.
///
/// `levels` has one entry per triangle, at most kMostRefinement; the mesh must pass check_scene. `stencils`,
/// if given, is filled.
SceneMesh refine_mesh(const SceneMesh& mesh, std::span<const std::uint8_t> levels, float weld_tolerance = 0,
                      RefinementStencils* stencils = nullptr);

template <class Value>
void RefinementStencils::apply(std::span<Value> values, std::span<Value> places) const {
  if (added.empty()) return;
  for (std::size_t p = 0; p < place_vertex.size(); ++p) places[p] = values[place_vertex[p]];
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    Value sum = places[sources[starts[i]]] * weights[starts[i]];
    for (std::uint32_t k = starts[i] + 1; k < starts[i + 1]; ++k) sum += places[sources[k]] * weights[k];
    places[place_vertex.size() + i] = sum;
  }
  for (std::size_t i = 0; i < added.size(); ++i)
    values[file_vertices + i] = added[i].between
                                    ? Value((values[added[i].first] + values[added[i].second]) * 0.5f)
                                    : places[added[i].first];
}

inline constexpr int kMostRefinement = 4;

}  // namespace sinew
