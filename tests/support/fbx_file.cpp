#include <tests/support/fbx_file.h>

#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sinew/core/index.h>

namespace sinew::test {

namespace {

using Ints = std::vector<std::int32_t>;
using Longs = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr std::int64_t kTicksPerSecond = 46'186'158'000;

FbxNode property(const std::string& name, const std::string& type, const std::string& label,
                 std::vector<FbxNode::Value> values) {
  FbxNode node{"P", {name, type, label, std::string("A")}, {}};
  node.values.insert(node.values.end(), values.begin(), values.end());
  return node;
}

FbxNode object(const std::string& kind, std::int64_t id, const std::string& name, const std::string& type) {
  return {kind, {id, name, type}, {}};
}

FbxNode geometry(const RiggedTube& tube, const TubeFileOptions& options) {
  Doubles vertices, normals;
  Ints corners;
  for (const Vec3f& position : tube.mesh.positions) {
    const Vec3d local =
        to_file_axes(options, position.cast<double>() - options.mesh_node) / options.metres_per_unit;
    vertices.insert(vertices.end(), local.data(), local.data() + 3);
  }
  Doubles texcoords;
  for (std::size_t p = 0; p < tube.mesh.polygons.size(); ++p) {
    const std::span<const std::uint32_t> polygon = tube.mesh.polygons[p];
    for (std::size_t c = 0; c < polygon.size(); ++c) {
      const int vertex = static_cast<int>(polygon[c]);
      corners.push_back(c + 1 == polygon.size() ? -vertex - 1 : vertex);
      Vec3d outwards = tube.mesh.positions[polygon[c]].cast<double>();
      outwards.y() = 0;
      outwards = to_file_axes(options, outwards.normalized());
      normals.insert(normals.end(), outwards.data(), outwards.data() + 3);
      texcoords.push_back(0.25 * static_cast<double>(c));
      texcoords.push_back(tube.mesh.positions[polygon[c]].y() / 2);
    }
  }
  FbxNode node = object("Geometry", 100, "Geometry::Tube", "Mesh");
  const auto layer = [](const std::string& kind, const std::string& values_name, Doubles values) {
    return FbxNode{kind,
                   {0},
                   {{"Version", {101}, {}},
                    {"Name", {std::string()}, {}},
                    {"MappingInformationType", {std::string("ByPolygonVertex")}, {}},
                    {"ReferenceInformationType", {std::string("Direct")}, {}},
                    {values_name, {std::move(values)}, {}}}};
  };
  const auto layer_element = [](const std::string& kind) {
    return FbxNode{"LayerElement", {}, {{"Type", {kind}, {}}, {"TypedIndex", {0}, {}}}};
  };
  node.children = {
      {"Vertices", {vertices}, {}},
      {"PolygonVertexIndex", {corners}, {}},
      {"GeometryVersion", {124}, {}},
      layer("LayerElementNormal", "Normals", normals),
      layer("LayerElementUV", "UV", texcoords),
      {"Layer",
       {0},
       {{"Version", {100}, {}}, layer_element("LayerElementNormal"), layer_element("LayerElementUV")}}};
  return node;
}

FbxNode model(std::int64_t id, const std::string& name, const std::string& type, const Vec3d& place,
              const TubeFileOptions& options) {
  const Vec3d local = to_file_axes(options, place) / options.metres_per_unit;
  FbxNode node = object("Model", id, "Model::" + name, type);
  node.children = {{"Version", {232}, {}},
                   {"Properties70",
                    {},
                    {property("Lcl Translation", "Lcl Translation", "", {local.x(), local.y(), local.z()}),
                     property("Lcl Rotation", "Lcl Rotation", "", {0.0, 0.0, 0.0}),
                     property("Lcl Scaling", "Lcl Scaling", "", {1.0, 1.0, 1.0})}}};
  return node;
}

/// Column by column, as FBX writes matrices.
Doubles translation_matrix(const Vec3d& scene, const TubeFileOptions& options) {
  const Vec3d t = to_file_axes(options, scene) / options.metres_per_unit;
  return {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, t.x(), t.y(), t.z(), 1};
}

FbxNode cluster(std::int64_t id, const RiggedTube& tube, bool upper, const TubeFileOptions& options) {
  Ints indices;
  Doubles weights;
  for (std::size_t v = 0; v < tube.upper_weights.size(); ++v) {
    const double weight = upper ? tube.upper_weights[v] : 1 - tube.upper_weights[v];
    if (weight <= 0) continue;
    indices.push_back(static_cast<int>(v));
    weights.push_back(weight);
  }
  const Vec3d joint(0, upper ? 1 : 0, 0);
  FbxNode node = object("Deformer", id, "SubDeformer::", "Cluster");
  node.children = {{"Version", {100}, {}},
                   {"UserData", {std::string(), std::string()}, {}},
                   {"Indexes", {indices}, {}},
                   {"Weights", {weights}, {}},
                   {"Transform", {translation_matrix(options.mesh_node - joint, options)}, {}},
                   {"TransformLink", {translation_matrix(joint, options)}, {}}};
  return node;
}

FbxNode curve(std::int64_t id, const Floats& degrees) {
  Longs times;
  for (std::size_t k = 0; k < degrees.size(); ++k)
    times.push_back(static_cast<std::int64_t>(k) * kTicksPerSecond);
  FbxNode node = object("AnimationCurve", id, "AnimCurve::", "");
  node.children = {{"Default", {0.0}, {}},
                   {"KeyVer", {4008}, {}},
                   {"KeyTime", {times}, {}},
                   {"KeyValueFloat", {degrees}, {}},
                   {"KeyAttrFlags", {Ints{4}}, {}},
                   {"KeyAttrDataFloat", {Floats{0, 0, 0, 0}}, {}},
                   {"KeyAttrRefCount", {Ints{static_cast<int>(degrees.size())}}, {}}};
  return node;
}

void write_text(const FbxNode& node, int depth, std::string& out) {
  const std::string indent(to_size(depth), '\t');
  out += fmt::format("{}{}: ", indent, node.name);
  bool first = true;
  for (const FbxNode::Value& value : node.values) {
    if (!first) out += ", ";
    first = false;
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, std::string>) {
            out += fmt::format("\"{}\"", v);
          } else if constexpr (std::is_arithmetic_v<T>) {
            out += fmt::format("{}", v);
          } else {
            out += fmt::format("*{} {{\n{}\ta: {}\n{}}}", v.size(), indent, fmt::join(v, ","), indent);
          }
        },
        value);
  }
  if (!node.children.empty() || node.values.empty()) {
    out += " {\n";
    for (const FbxNode& child : node.children) write_text(child, depth + 1, out);
    out += indent + "}";
  }
  out += "\n";
}

template <class T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/// A zlib stream (RFC 1950) of stored blocks: no smaller than its content, but any reader must take it.
std::string zlib_stream(std::string_view content) {
  std::string out("\x78\x01", 2);
  std::uint32_t a = 1, b = 0;
  for (const char c : content) {
    a = (a + static_cast<unsigned char>(c)) % 65521;
    b = (b + a) % 65521;
  }
  do {
    const std::string_view block = content.substr(0, 65535);
    content.remove_prefix(block.size());
    out += content.empty() ? '\1' : '\0';
    put(out, static_cast<std::uint16_t>(block.size()));
    put(out, static_cast<std::uint16_t>(~block.size()));
    out += block;
  } while (!content.empty());
  for (const std::uint32_t word : {b, a}) {
    out += static_cast<char>(word >> 8);
    out += static_cast<char>(word);
  }
  return out;
}

std::string binary_value(const FbxNode::Value& value, bool packed) {
  std::string out;
  std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, std::string>) {
          std::string text = v;
          // "Class::name" is "name", two marks and "Class" in binary files.
          if (const std::size_t colons = v.find("::"); colons != std::string::npos)
            text = v.substr(colons + 2) + std::string("\0\x01", 2) + v.substr(0, colons);
          out += 'S';
          put(out, static_cast<std::uint32_t>(text.size()));
          out += text;
        } else if constexpr (std::is_arithmetic_v<T>) {
          out += std::is_same_v<T, double> ? 'D' : sizeof(T) == 8 ? 'L' : 'I';
          put(out, v);
        } else {
          using Item = typename T::value_type;
          out += std::is_same_v<Item, double>  ? 'd'
                 : std::is_same_v<Item, float> ? 'f'
                 : sizeof(Item) == 8           ? 'l'
                                               : 'i';
          std::string content(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(Item));
          if (packed) content = zlib_stream(content);
          put(out, static_cast<std::uint32_t>(v.size()));
          put(out, std::uint32_t{packed});
          put(out, static_cast<std::uint32_t>(content.size()));
          out += content;
        }
      },
      value);
  return out;
}

void write_binary(const FbxNode& node, bool wide, bool packed, std::string& out) {
  std::string values;
  for (const FbxNode::Value& value : node.values) values += binary_value(value, packed);
  const std::size_t start = out.size();
  const auto put_word = [&](std::uint64_t word) {
    if (wide)
      put(out, word);
    else
      put(out, static_cast<std::uint32_t>(word));
  };
  put_word(0);  // the end, filled in below
  put_word(node.values.size());
  put_word(values.size());
  put(out, static_cast<std::uint8_t>(node.name.size()));
  out += node.name + values;
  if (!node.children.empty() || node.values.empty()) {
    for (const FbxNode& child : node.children) write_binary(child, wide, packed, out);
    out.append(wide ? 25 : 13, '\0');
  }
  const std::uint64_t end = out.size();
  std::memcpy(out.data() + start, &end, wide ? 8 : 4);
}

}  // namespace

FbxNode& FbxNode::child(std::string_view child_name) {
  for (FbxNode& node : children)
    if (node.name == child_name) return node;
  children.push_back({std::string(child_name), {}, {}});
  return children.back();
}

FbxNode tube_fbx(const RiggedTube& tube, const TubeFileOptions& options) {
  const bool z_up = options.up_axis == 'z';
  FbxNode root;
  root.child("FBXHeaderExtension").children = {{"FBXHeaderVersion", {1003}, {}}, {"FBXVersion", {7400}, {}}};
  const auto setting = [](const std::string& name, int value) {
    return property(name, "int", "Integer", {value});
  };
  root.child("GlobalSettings").children = {
      {"Version", {1000}, {}},
      {"Properties70",
       {},
       {setting("UpAxis", z_up ? 2 : 1), setting("UpAxisSign", 1), setting("FrontAxis", z_up ? 1 : 2),
        setting("FrontAxisSign", z_up ? -1 : 1), setting("CoordAxis", 0), setting("CoordAxisSign", 1),
        property("UnitScaleFactor", "double", "Number", {options.metres_per_unit * 100}),
        setting("TimeMode", 6)}}};

  // The scene's z axis, about which the tube bends, is the file's z or its -y.
  const Floats bend = z_up ? Floats{0, -45, -90} : Floats{0, 45, 90};
  const std::string axis = z_up ? "d|Y" : "d|Z";
  FbxNode skin = object("Deformer", 300, "Deformer::", "Skin");
  skin.children = {{"Version", {101}, {}}, {"Link_DeformAcuracy", {50.0}, {}}};
  FbxNode stack = object("AnimationStack", 400, "AnimStack::bend", "");
  stack.children = {{"Properties70", {}, {property("LocalStop", "KTime", "Time", {2 * kTicksPerSecond})}}};
  FbxNode layer = object("AnimationLayer", 401, "AnimLayer::Base", "");
  layer.children = {{"Properties70", {}, {}}};
  FbxNode curve_node = object("AnimationCurveNode", 402, "AnimCurveNode::R", "");
  curve_node.children = {{"Properties70",
                          {},
                          {property("d|X", "Number", "", {0.0}), property("d|Y", "Number", "", {0.0}),
                           property("d|Z", "Number", "", {0.0})}}};
  root.child("Objects").children = {geometry(tube, options),
                                    model(200, "TubeNode", "Mesh", options.mesh_node, options),
                                    model(201, "Lower", "LimbNode", Vec3d(0, 0, 0), options),
                                    model(202, "Upper", "LimbNode", Vec3d(0, 1, 0), options),
                                    skin,
                                    cluster(301, tube, false, options),
                                    cluster(302, tube, true, options),
                                    stack,
                                    layer,
                                    curve_node,
                                    curve(403, bend)};
  const auto link = [](std::int64_t from, std::int64_t to) {
    return FbxNode{"C", {std::string("OO"), from, to}, {}};
  };
  const auto link_property = [](std::int64_t from, std::int64_t to, const std::string& name) {
    return FbxNode{"C", {std::string("OP"), from, to, name}, {}};
  };
  root.child("Connections").children = {link(200, 0),
                                        link(201, 0),
                                        link(202, 201),
                                        link(100, 200),
                                        link(300, 100),
                                        link(301, 300),
                                        link(302, 300),
                                        link(201, 301),
                                        link(202, 302),
                                        link(401, 400),
                                        link(402, 401),
                                        link_property(402, 202, "Lcl Rotation"),
                                        link_property(403, 402, axis)};
  return root;
}

std::string fbx_text(const FbxNode& root) {
  std::string out = "; FBX 7.4.0 project file\n";
  for (const FbxNode& node : root.children) write_text(node, 0, out);
  return out;
}

std::string fbx_binary(const FbxNode& root, std::uint32_t version, bool packed) {
  std::string out("Kaydara FBX Binary  \0\x1a\0", 23);
  put(out, version);
  const bool wide = version >= 7500;
  for (const FbxNode& node : root.children) write_binary(node, wide, packed, out);
  out.append(wide ? 25 : 13, '\0');
  out.append(160, '\0');  // a footer, which no reader reads
  return out;
}

}  // namespace sinew::test
