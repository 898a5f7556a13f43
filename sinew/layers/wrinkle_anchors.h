#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <sinew/layers/wrinkle_layer.h>

namespace sinew {

/// A tool's ends on the welded surface.
struct WrinkleAnchors {
  std::uint32_t from = 0, to = 0;
  std::size_t mesh = 0;
  double far = 0;  ///< of the points from the skin, metres
};

/// Finds where on a character a tool lies: at the vertices of a mesh that it names, or at those nearest to
/// its points that are part of the surface.
class WrinkleAnchorFinder {
 public:
  explicit WrinkleAnchorFinder(const Character& character);

  /// Throws Error, prefixed with `where`, for ends that are missing, the same, or not there, and for meshes
  /// that do not exist or leave a choice between numbers.
  WrinkleAnchors find(const WrinkleChoice& choice, const std::string& where) const;

 private:
  std::uint32_t numbered(int vertex, std::size_t mesh, const std::string& where) const;
  std::uint32_t nearest(const Vec3d& point, const std::vector<std::size_t>& meshes, WrinkleAnchors& anchors,
                        const std::string& where) const;

  const Character& character_;
  std::vector<char> on_surface_;
};

}  // namespace sinew
