#include <sinew/scene/assimp_import.h>

#include <algorithm>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/file.h>
#include <sinew/scene/assimp_reader.h>
#include <sinew/scene/import_checks.h>
#include <sinew/scene/import_conversion.h>
#include <sinew/scene/isolated_process.h>

namespace sinew {

namespace {

/// Assimp holds a text file in memory many times over, as tokens, elements and meshes.
IsolationLimits import_limits(std::size_t file_bytes) {
  IsolationLimits limits;
  limits.memory_bytes = (std::uint64_t{1} << 30) + 128 * std::uint64_t{file_bytes};
  limits.cpu_seconds = 30 + static_cast<int>(std::min<std::size_t>(file_bytes >> 20, 3600));
  limits.wall_seconds = 4 * limits.cpu_seconds;
  return limits;
}

ImportedScene import_isolated(std::span<const std::byte> bytes, const std::string& name,
                              const std::string& extension) {
  const std::vector<std::byte> packed = run_isolated(
      [&] { return pack(read_with_assimp(bytes, extension, name)); }, name, import_limits(bytes.size()));
  return unpack(packed, name);
}

}  // namespace

Scene read_assimp(const std::filesystem::path& path) {
  std::string extension = lower_case_extension(path);
  if (!extension.empty()) extension.erase(0, 1);
  return parse_assimp(read_file(path), path.string(), extension);
}

Scene parse_assimp(std::span<const std::byte> bytes, const std::string& name, const std::string& extension) {
  if (extension == "fbx") {
    check_fbx(bytes, name);
    ImportedScene imported = import_isolated(bytes, name, extension);
    const ImportSpace space = fbx_space(imported);
    // Assimp gives a shape that is alone in its channel the weight 1, whatever the file says.
    for (ImportedMesh& mesh : imported.meshes)
      for (ImportedMorph& morph : mesh.morphs) morph.weight = 0;
    return convert_import(std::move(imported), space, name);
  }
  if (extension == "dae") {
    check_collada(as_text(bytes), name);
    std::string text(as_text(bytes));
    const ColladaSpace said = take_collada_space(text, name);
    const std::span<const std::byte> rest(reinterpret_cast<const std::byte*>(text.data()), text.size());
    return convert_import(import_isolated(rest, name, extension),
                          collada_space(said.metres_per_unit, said.up_axis), name);
  }
  throw Error(fmt::format("{}: '{}' is neither fbx nor dae", name, extension));
}

}  // namespace sinew
