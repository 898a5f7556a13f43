#include <sinew/layers/wrinkle_anchors.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/core/pattern.h>

namespace sinew {

WrinkleAnchorFinder::WrinkleAnchorFinder(const Character& character)
    : character_(character), on_surface_(character.rest().size(), 0) {
  for (const Triangle& triangle : character.triangles())
    for (const std::uint32_t v : triangle) on_surface_[v] = 1;
}

WrinkleAnchors WrinkleAnchorFinder::find(const WrinkleChoice& choice, const std::string& where) const {
  std::vector<std::size_t> meshes;
  for (std::size_t m = 0; m < character_.meshes().size(); ++m)
    if (choice.mesh.empty() || matches_pattern(character_.meshes()[m].name, choice.mesh)) meshes.push_back(m);
  if (meshes.empty()) throw Error(fmt::format("{}: mesh: no mesh fits '{}'", where, choice.mesh));
  WrinkleAnchors anchors;
  if (choice.from_vertex >= 0 || choice.to_vertex >= 0) {
    if (!choice.points.empty())
      throw Error(fmt::format("{}: points and vertices both say where it lies; give one of them", where));
    if (meshes.size() > 1)
      throw Error(fmt::format("{}: mesh: {} meshes fit '{}'; vertices belong to one", where, meshes.size(),
                              choice.mesh));
    anchors.mesh = meshes[0];
    anchors.from = numbered(choice.from_vertex, anchors.mesh, where + ": from_vertex");
    anchors.to = numbered(choice.to_vertex, anchors.mesh, where + ": to_vertex");
  } else {
    if (choice.points.size() != 2)
      throw Error(fmt::format("{}: points: two are needed, where its segment starts and ends", where));
    anchors.from = nearest(choice.points[0].position(), meshes, anchors, where);
    anchors.to = nearest(choice.points[1].position(), {anchors.mesh}, anchors, where);
  }
  const double length = (character_.rest()[anchors.from] - character_.rest()[anchors.to]).norm();
  if (anchors.from == anchors.to || !(length > 0))
    throw Error(fmt::format("{}: both ends are the same vertex; draw a longer segment", where));
  return anchors;
}

std::uint32_t WrinkleAnchorFinder::numbered(int vertex, std::size_t m, const std::string& where) const {
  const CharacterMesh& mesh = character_.meshes()[m];
  if (vertex < 0) throw Error(fmt::format("{}: is missing; both ends are needed", where));
  if (to_size(vertex) >= mesh.weld.welded_of_vertex.size())
    throw Error(fmt::format("{}: mesh '{}' has the vertices 0 to {}", where, mesh.name,
                            static_cast<std::int64_t>(mesh.weld.welded_of_vertex.size()) - 1));
  const auto welded =
      static_cast<std::uint32_t>(mesh.first_vertex + mesh.weld.welded_of_vertex[to_size(vertex)]);
  if (!on_surface_[welded]) throw Error(fmt::format("{}: vertex {} is in no triangle", where, vertex));
  return welded;
}

std::uint32_t WrinkleAnchorFinder::nearest(const Vec3d& point, const std::vector<std::size_t>& meshes,
                                           WrinkleAnchors& anchors, const std::string& where) const {
  std::uint32_t best = 0;
  double distance = std::numeric_limits<double>::infinity();
  for (const std::size_t m : meshes) {
    const CharacterMesh& mesh = character_.meshes()[m];
    for (std::size_t v = mesh.first_vertex; v < mesh.first_vertex + mesh.weld.size(); ++v) {
      const double d = (character_.rest()[v].cast<double>() - point).norm();
      if (!on_surface_[v] || d >= distance) continue;
      distance = d;
      best = static_cast<std::uint32_t>(v);
      anchors.mesh = m;
    }
  }
  if (!std::isfinite(distance)) throw Error(fmt::format("{}: there is no skin to lie on", where));
  anchors.far = std::max(anchors.far, distance);
  return best;
}

}  // namespace sinew
