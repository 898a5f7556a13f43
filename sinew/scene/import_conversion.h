#pragma once

#include <string>

#include <sinew/scene/imported_scene.h>
#include <sinew/scene/scene.h>

namespace sinew {

/// How a file's space lies in ours.
struct ImportSpace {
  OriginalSpace original;
  Mat3d scene_from_file = Mat3d::Identity();  ///< rotation only; the unit is in `original`
  std::string warning;                        ///< empty when all is well
};

/// From the axes and the unit that an FBX file names.
ImportSpace fbx_space(const ImportedScene& imported);
/// From Collada's unit and up axis.
ImportSpace collada_space(double metres_per_unit, char up_axis);

/// The scene in metres and Y up. Nodes become joints with the frames they have in the file, the roots turned
/// into our space. Importers give every polygon corner a vertex of its own; those with the same position,
/// weights and morphs become one again, in the order of their first corner. Skinned meshes are brought to
/// scene space as they were bound. Throws Error, prefixed with `name`, for indices out of range and numbers
/// that are not finite.
Scene convert_import(ImportedScene imported, const ImportSpace& space, const std::string& name);

}  // namespace sinew
