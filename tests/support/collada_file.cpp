#include <tests/support/collada_file.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sinew::test {

namespace {

std::string source(const std::string& id, const std::string& items, std::size_t count, std::size_t stride,
                   const std::string& kind, const std::string& parameter) {
  return fmt::format(
      "<source id=\"{0}\"><{1}_array id=\"{0}-array\" count=\"{2}\">{3}</{1}_array><technique_common>"
      "<accessor source=\"#{0}-array\" count=\"{4}\" "
      "stride=\"{5}\">{6}</accessor></technique_common></source>\n",
      id, kind, count * stride, items, count, stride, parameter);
}

const std::string kXyz =
    R"(<param name="X" type="float"/><param name="Y" type="float"/><param name="Z" type="float"/>)";

/// Row by row, as Collada writes matrices.
std::string translation_matrix(const Vec3d& scene, const TubeFileOptions& options) {
  const Vec3d t = to_file_axes(options, scene) / options.metres_per_unit;
  return fmt::format("1 0 0 {} 0 1 0 {} 0 0 1 {} 0 0 0 1", t.x(), t.y(), t.z());
}

std::string translate(const Vec3d& scene, const TubeFileOptions& options) {
  const Vec3d t = to_file_axes(options, scene) / options.metres_per_unit;
  return fmt::format("<translate>{} {} {}</translate>", t.x(), t.y(), t.z());
}

std::string geometry(const RiggedTube& tube, const TubeFileOptions& options) {
  std::vector<double> positions, normals, texcoords;
  for (const Vec3f& position : tube.mesh.positions) {
    const Vec3d local =
        to_file_axes(options, position.cast<double>() - options.mesh_node) / options.metres_per_unit;
    positions.insert(positions.end(), local.data(), local.data() + 3);
    Vec3d outwards = position.cast<double>();
    outwards.y() = 0;
    outwards = to_file_axes(options, outwards.normalized());
    normals.insert(normals.end(), outwards.data(), outwards.data() + 3);
    texcoords.push_back(0.25);
    texcoords.push_back(position.y() / 2);
  }
  std::vector<std::uint32_t> sizes, corners;
  for (std::size_t p = 0; p < tube.mesh.polygons.size(); ++p) {
    sizes.push_back(static_cast<std::uint32_t>(tube.mesh.polygons[p].size()));
    for (const std::uint32_t corner : tube.mesh.polygons[p]) corners.insert(corners.end(), 3, corner);
  }
  const std::size_t count = tube.mesh.positions.size();
  std::string out = "<library_geometries><geometry id=\"tube\" name=\"Tube\"><mesh>\n";
  out += source("tube-positions", fmt::format("{}", fmt::join(positions, " ")), count, 3, "float", kXyz);
  out += source("tube-normals", fmt::format("{}", fmt::join(normals, " ")), count, 3, "float", kXyz);
  out += source("tube-uv", fmt::format("{}", fmt::join(texcoords, " ")), count, 2, "float",
                R"(<param name="S" type="float"/><param name="T" type="float"/>)");
  out +=
      "<vertices id=\"tube-vertices\"><input semantic=\"POSITION\" source=\"#tube-positions\"/></vertices>\n";
  out += fmt::format(
      "<polylist count=\"{}\"><input semantic=\"VERTEX\" source=\"#tube-vertices\" offset=\"0\"/>"
      "<input semantic=\"NORMAL\" source=\"#tube-normals\" offset=\"1\"/>"
      "<input semantic=\"TEXCOORD\" source=\"#tube-uv\" offset=\"2\" set=\"0\"/>"
      "<vcount>{}</vcount><p>{}</p></polylist>\n",
      sizes.size(), fmt::join(sizes, " "), fmt::join(corners, " "));
  return out + "</mesh></geometry></library_geometries>\n";
}

std::string controller(const RiggedTube& tube, const TubeFileOptions& options) {
  std::vector<float> weights;
  std::vector<std::uint32_t> counts, pairs;
  for (const float upper : tube.upper_weights) {
    counts.push_back(2);
    for (const std::uint32_t joint : {0u, 1u}) {
      pairs.push_back(joint);
      pairs.push_back(static_cast<std::uint32_t>(weights.size()));
      weights.push_back(joint == 1 ? upper : 1 - upper);
    }
  }
  std::string out = "<library_controllers><controller id=\"tube-skin\"><skin source=\"#tube\">\n";
  out += "<bind_shape_matrix>" + translation_matrix(options.mesh_node, options) + "</bind_shape_matrix>\n";
  out += source("joints", "Lower Upper", 2, 1, "Name", R"(<param name="JOINT" type="name"/>)");
  out +=
      source("binds",
             translation_matrix(Vec3d(0, 0, 0), options) + " " + translation_matrix(Vec3d(0, -1, 0), options),
             2, 16, "float", R"(<param name="TRANSFORM" type="float4x4"/>)");
  out += source("weights", fmt::format("{}", fmt::join(weights, " ")), weights.size(), 1, "float",
                R"(<param name="WEIGHT" type="float"/>)");
  out +=
      "<joints><input semantic=\"JOINT\" source=\"#joints\"/><input semantic=\"INV_BIND_MATRIX\" "
      "source=\"#binds\"/></joints>\n";
  out += fmt::format(
      "<vertex_weights count=\"{}\"><input semantic=\"JOINT\" source=\"#joints\" offset=\"0\"/>"
      "<input semantic=\"WEIGHT\" source=\"#weights\" "
      "offset=\"1\"/><vcount>{}</vcount><v>{}</v></vertex_weights>\n",
      counts.size(), fmt::join(counts, " "), fmt::join(pairs, " "));
  return out + "</skin></controller></library_controllers>\n";
}

}  // namespace

std::string tube_collada(const RiggedTube& tube, const TubeFileOptions& options) {
  const bool z_up = options.up_axis == 'z';
  std::string out = "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n";
  out += "<COLLADA xmlns=\"http://www.collada.org/2005/11/COLLADASchema\" version=\"1.4.1\">\n";
  out += fmt::format("<asset><unit name=\"unit\" meter=\"{}\"/><up_axis>{}</up_axis></asset>\n",
                     options.metres_per_unit, z_up ? "Z_UP" : "Y_UP");
  out += geometry(tube, options) + controller(tube, options);
  out += "<library_animations><animation id=\"bend\" name=\"bend\">\n";
  out += source("times", "0 1 2", 3, 1, "float", R"(<param name="TIME" type="float"/>)");
  // The scene's z axis, about which the tube bends, is the file's z or its -y.
  out += source("angles", "0 45 90", 3, 1, "float", R"(<param name="ANGLE" type="float"/>)");
  out += source("ways", "LINEAR LINEAR LINEAR", 3, 1, "Name", R"(<param name="INTERPOLATION" type="name"/>)");
  out +=
      "<sampler id=\"sampler\"><input semantic=\"INPUT\" source=\"#times\"/><input semantic=\"OUTPUT\" "
      "source=\"#angles\"/><input semantic=\"INTERPOLATION\" source=\"#ways\"/></sampler>"
      "<channel source=\"#sampler\" target=\"upper/bend.ANGLE\"/></animation></library_animations>\n";
  out += "<library_visual_scenes><visual_scene id=\"scene\" name=\"Scene\">\n";
  out += "<node id=\"lower\" sid=\"Lower\" name=\"Lower\" type=\"JOINT\">\n";
  out += "<node id=\"upper\" sid=\"Upper\" name=\"Upper\" type=\"JOINT\">" +
         translate(Vec3d(0, 1, 0), options) +
         fmt::format("<rotate sid=\"bend\">{} 0</rotate></node></node>\n", z_up ? "0 -1 0" : "0 0 1");
  out += "<node id=\"tube-node\" name=\"TubeNode\">" + translate(Vec3d(7, 7, 7), options) +
         "<instance_controller url=\"#tube-skin\"><skeleton>#lower</skeleton></instance_controller></node>\n";
  out +=
      "</visual_scene></library_visual_scenes><scene><instance_visual_scene "
      "url=\"#scene\"/></scene></COLLADA>\n";
  return out;
}

}  // namespace sinew::test
