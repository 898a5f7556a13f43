#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sinew/authoring/bind_scene.h>

#include "apps/cli/json.h"

/// What bind and transfer have in common.
namespace sinew::cli {

/// Throws Error unless `output` ends in .glb, can be written and is none of the inputs.
void check_glb_output(const std::filesystem::path& output, const std::vector<std::string>& inputs);

/// "all" or a number from 1 to 64; 0 means all. Throws Error.
std::size_t parse_influences(const std::string& text);

/// Whether both arguments name the same input.
bool same_input(const std::string& a, const std::string& b);

/// Throws Error when vertices have no weights, saying how many and where.
void refuse_unbound(const std::vector<BoundMesh>& meshes, const std::string& input);

Json meshes_json(const std::vector<BoundMesh>& meshes);
Json joints_json(const std::vector<BoundJoint>& joints);
Json pictures_json(const std::vector<std::filesystem::path>& pictures);

/// Prints warnings on stderr, one line each.
void tell_warnings(const std::vector<std::string>& warnings);

/// Where pictures go, with all directories above. Throws Error.
void make_picture_directory(const std::filesystem::path& directory);

/// A picture of the joints' regions, and one per joint of its weights, from the front and the back. Returns
/// the files written; the directory is made where it is missing. Throws Error.
std::vector<std::filesystem::path> draw_weights(const Scene& scene, const std::vector<BoundJoint>& joints,
                                                const std::filesystem::path& directory);

}  // namespace sinew::cli
