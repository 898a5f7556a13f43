#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <set>

#include <fmt/format.h>

#include <sinew/core/error.h>
#include <sinew/core/index.h>
#include <sinew/scene/gltf_reading.h>

namespace sinew {

namespace {

/// Off by more than this, a rotation's length or a matrix's last row is wrong, not rounded.
constexpr double kRounding = 1e-4;

/// Per node its parent or -1.
std::vector<int> read_parents(const std::vector<GltfValue>& nodes) {
  std::vector<int> parents(nodes.size(), -1);
  for (std::size_t n = 0; n < nodes.size(); ++n)
    for (const GltfValue& child_value : nodes[n].elements("children")) {
      const std::size_t child = child_value.index(nodes.size(), "node");
      if (child == n) child_value.fail(fmt::format("node {} is its own child", n));
      if (parents[child] >= 0)
        child_value.fail(fmt::format("node {} already is a child of node {}", child, parents[child]));
      parents[child] = static_cast<int>(n);
    }
  return parents;
}

/// Nodes in an order where parents come first, and otherwise by number: the free node with the smallest
/// number is always next, so a file whose parents come first keeps its order.
std::vector<int> order_nodes(const GltfValue& root, const std::vector<GltfValue>& nodes,
                             const std::vector<int>& parents) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (parents[n] < 0) free.push(n);
  std::vector<int> order;
  order.reserve(nodes.size());
  std::vector<bool> placed(nodes.size(), false);
  while (!free.empty()) {
    const std::size_t n = free.top();
    free.pop();
    order.push_back(static_cast<int>(n));
    placed[n] = true;
    for (const GltfValue& child : nodes[n].elements("children")) free.push(child.natural());
  }
  if (order.size() < nodes.size()) {
    // Every node has one parent at most, so a node without a place hangs below a cycle; walking up far enough
    // ends in it.
    std::size_t n = to_size(std::find(placed.begin(), placed.end(), false) - placed.begin());
    for (std::size_t step = 0; step < nodes.size(); ++step) n = to_size(parents[n]);
    root.fail(fmt::format("{} is its own ancestor", gltf_label("node", n, nodes[n].name())));
  }
  return order;
}

Vec3f read_vector(const GltfValue& value) {
  const std::vector<float> v = value.numbers(3);
  return {v[0], v[1], v[2]};
}

Transform read_matrix(GltfReading& reading, const GltfValue& node, const GltfValue& value,
                      const std::string& label) {
  const std::vector<float> entries = value.numbers(16);
  const Mat4f matrix = Eigen::Map<const Mat4f>(entries.data());  // column by column, as glTF
  const Vec4f last_row(0, 0, 0, 1);
  if ((matrix.row(3).transpose() - last_row).cwiseAbs().maxCoeff() > kRounding)
    value.fail("the last row is not 0 0 0 1");
  Affine3d affine;
  affine.matrix() = matrix.cast<double>();
  affine.makeAffine();
  double shear = 0;
  const Transform transform = decompose(affine, &shear);
  if (!transform.translation.allFinite() || !transform.rotation.coeffs().allFinite() ||
      !transform.scale.allFinite())
    node.fail("its matrix cannot be taken apart into translation, rotation and scale");
  const double largest = affine.linear().cwiseAbs().maxCoeff();
  if (shear > kRounding * largest)
    reading.warn(fmt::format(
        "{}: its matrix has shear, which is dropped (largest change of an entry: {:.3g})", label, shear));
  return transform;
}

Transform read_transform(GltfReading& reading, const GltfValue& node, const std::string& label) {
  if (const auto matrix = node.find("matrix")) return read_matrix(reading, node, *matrix, label);
  Transform transform;
  if (const auto translation = node.find("translation")) transform.translation = read_vector(*translation);
  if (const auto scale = node.find("scale")) transform.scale = read_vector(*scale);
  if (const auto rotation = node.find("rotation")) {
    const std::vector<float> xyzw = rotation->numbers(4);
    const Quatd quaternion(xyzw[3], xyzw[0], xyzw[1], xyzw[2]);
    const double length = quaternion.norm();
    if (length < kRounding) rotation->fail("the quaternion has no length");
    transform.rotation = Quatf(xyzw[3], xyzw[0], xyzw[1], xyzw[2]);
    if (std::abs(length - 1) > kRounding) {
      transform.rotation = quaternion.normalized().cast<float>();
      reading.warn(fmt::format("{}: rotation of length {:.4g} normalised", label, length));
    }
  }
  return transform;
}

std::vector<Mat4f> read_bind_matrices(GltfReading& reading, const GltfValue& skin, std::size_t joint_count,
                                      const std::string& label) {
  std::vector<Mat4f> matrices(joint_count, Mat4f::Identity());
  const auto reference = skin.find("inverseBindMatrices");
  if (!reference) return matrices;
  const std::string where = fmt::format("{}: {}", reading.root.file(), label);
  const GltfAccessor accessor = reading.accessors.find(*reference);
  if (accessor.width != 16 || accessor.component != GltfComponent::f32)
    reference->fail("inverse bind matrices must be MAT4 of floats");
  if (accessor.count < joint_count)
    throw Error(
        fmt::format("{}: {} inverse bind matrices for {} joints", where, accessor.count, joint_count));
  reading.accessors.charge(accessor.values());
  std::vector<float> entries(accessor.values());
  decode_finite(reading, accessor, entries, where, "inverse bind matrix");
  for (std::size_t j = 0; j < joint_count; ++j) {
    matrices[j] = Eigen::Map<const Mat4f>(entries.data() + 16 * j);
    const Vec4f last_row(0, 0, 0, 1);
    if ((matrices[j].row(3).transpose() - last_row).cwiseAbs().maxCoeff() > kRounding)
      throw Error(fmt::format("{}: the last row of inverse bind matrix {} is not 0 0 0 1", where, j));
    matrices[j].row(3) = last_row.transpose();
  }
  return matrices;
}

}  // namespace

void read_gltf_nodes(GltfReading& reading) {
  const std::vector<GltfValue> nodes = reading.root.elements("nodes");
  if (nodes.size() > to_size(std::numeric_limits<int>::max()))
    reading.root.fail(fmt::format("{} nodes are too many", nodes.size()));
  const std::vector<int> parents = read_parents(nodes);
  Scene& scene = reading.scene;
  scene.joint_nodes = order_nodes(reading.root, nodes, parents);
  reading.node_joint.assign(nodes.size(), -1);
  scene.skeleton.joints.resize(nodes.size());
  for (std::size_t j = 0; j < nodes.size(); ++j) {
    const std::size_t n = to_size(scene.joint_nodes[j]);
    Joint& joint = scene.skeleton.joints[j];
    joint.name = nodes[n].name();
    joint.parent = parents[n] < 0 ? -1 : reading.node_joint[to_size(parents[n])];
    joint.rest = read_transform(reading, nodes[n], gltf_label("node", n, joint.name));
    reading.node_joint[n] = static_cast<int>(j);
  }
}

void read_gltf_skins(GltfReading& reading) {
  const std::vector<GltfValue> skins = reading.root.elements("skins");
  const std::size_t node_count = reading.node_joint.size();
  for (std::size_t s = 0; s < skins.size(); ++s) {
    Skin& skin = reading.scene.skins.emplace_back();
    skin.name = skins[s].name();
    const std::string label = gltf_label("skin", s, skin.name);
    const GltfValue joints = skins[s].member("joints");
    if (joints.size() == 0) joints.fail("expected at least one joint");
    std::set<std::size_t> seen;
    for (std::size_t i = 0; i < joints.size(); ++i) {
      const GltfValue joint = joints.element(i);
      const std::size_t node = joint.index(node_count, "node");
      if (!seen.insert(node).second) joint.fail(fmt::format("node {} is listed twice", node));
      const int number = reading.node_joint[node];
      skin.joints.push_back(number);
      reading.scene.skeleton.joints[to_size(number)].deforms = true;
    }
    if (const auto top = skins[s].find("skeleton")) top->index(node_count, "node");
    skin.joint_from_mesh = read_bind_matrices(reading, skins[s], skin.joints.size(), label);
  }
}

}  // namespace sinew
