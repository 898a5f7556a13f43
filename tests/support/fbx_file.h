#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tests/support/rigged_tube.h>

namespace sinew::test {

/// One record of an FBX file. Object names are written "Class::name", as in text files.
struct FbxNode {
  using Value = std::variant<std::int32_t, std::int64_t, double, std::string, std::vector<std::int32_t>,
                             std::vector<std::int64_t>, std::vector<float>, std::vector<double>>;

  std::string name;
  std::vector<Value> values;
  std::vector<FbxNode> children;

  /// The first child of that name, made when missing.
  FbxNode& child(std::string_view child_name);
};

/// The tube as an FBX document: its records stand below a nameless root.
FbxNode tube_fbx(const RiggedTube& tube, const TubeFileOptions& options = {});

std::string fbx_text(const FbxNode& root);
/// Binary; versions from 7500 on use 64-bit offsets. With `packed`, arrays are zlib streams.
std::string fbx_binary(const FbxNode& root, std::uint32_t version = 7400, bool packed = false);

}  // namespace sinew::test
