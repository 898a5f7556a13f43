#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <sinew/core/math.h>
#include <sinew/geometry/mesh.h>

namespace sinew {

/// What the import library found, in its own terms and the file's own space. Plain data that can be sent from
/// one process to another. Nothing in it has been checked: indices may point anywhere, numbers may be NaN.
struct ImportedNode {
  std::string name;
  int parent = -1;  ///< always smaller than this node's own index
  Mat4f local = Mat4f::Identity();
  std::vector<std::uint32_t> meshes;
};

struct ImportedBone {
  std::string node;
  Mat4f bone_from_mesh = Mat4f::Identity();
  std::vector<std::uint32_t> vertices;
  std::vector<float> weights;
};

struct ImportedMorph {
  std::string name;
  float weight = 0;
  std::vector<Vec3f> positions;
};

struct ImportedMesh {
  std::string name;
  std::vector<Vec3f> positions;
  std::vector<Vec3f> normals;    ///< per vertex, or empty
  std::vector<Vec2f> texcoords;  ///< per vertex, v runs up; or empty
  std::vector<std::uint32_t> corners;
  std::vector<std::uint32_t> starts;  ///< as Polygons::starts
  std::vector<ImportedBone> bones;
  std::vector<ImportedMorph> morphs;
};

/// Times in seconds.
struct ImportedChannel {
  std::string node;
  std::vector<double> translation_times, rotation_times, scale_times;
  std::vector<Vec3f> translations, scales;
  std::vector<Vec4f> rotations;  ///< x y z w
};

struct ImportedMorphChannel {
  std::string node;
  std::vector<double> times;
  std::vector<std::uint32_t> starts;  ///< per key and one more, into the next two
  std::vector<std::uint32_t> targets;
  std::vector<float> weights;
};

struct ImportedClip {
  std::string name;
  std::vector<ImportedChannel> channels;
  std::vector<ImportedMorphChannel> morph_channels;
};

struct ImportedScene {
  std::vector<ImportedNode> nodes;
  std::vector<ImportedMesh> meshes;
  std::vector<ImportedClip> clips;
  /// FBX: which axis (0 to 2) points right, up and to the front, and its sign; -1 where the file is silent.
  std::array<int, 3> axes{-1, -1, -1};
  std::array<int, 3> axis_signs{1, 1, 1};
  double centimetres_per_unit = 1;
  std::vector<std::string> messages;  ///< parts of the file that the library could not read
};

std::vector<std::byte> pack(ImportedScene scene);

/// Throws Error, prefixed with `name`, when the bytes are not what pack made.
ImportedScene unpack(std::span<const std::byte> bytes, const std::string& name);

}  // namespace sinew
