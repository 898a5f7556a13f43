#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <sinew/scene/scene.h>

namespace sinew {

/// Reads a Wavefront OBJ as one mesh: vertices in file order, polygons of any size, a UV and a normal per
/// corner. The lines o, g, usemtl, s and mtllib are kept as SceneMesh::obj_directives. Vertex colours,
/// points, lines, curves and everything unknown are skipped; what is worth telling stands in Scene::warnings.
/// OBJ has no unit and no up axis: numbers are taken as metres, Y up. Throws Error naming the line, also for
/// a file without faces.
Scene read_obj(const std::filesystem::path& path);

/// The same from memory. `name` is what errors call the file.
Scene parse_obj(std::string_view text, const std::string& name);

/// Writes the meshes of `scene` at rest, in scene space, with the file's own UVs and normals. Skinned meshes
/// are written as they were bound. Numbers are printed so that reading them gives the same bits.
void write_obj(const Scene& scene, const std::filesystem::path& path);

}  // namespace sinew
