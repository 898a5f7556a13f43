#include <sinew/scene/imported_scene.h>

#include <cstring>
#include <type_traits>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

template <class T>
constexpr bool kPlain =
    std::is_arithmetic_v<T> || std::is_same_v<T, Vec2f> || std::is_same_v<T, Vec3f> ||
    std::is_same_v<T, Vec4f> || std::is_same_v<T, Mat4f> || std::is_same_v<T, std::array<int, 3>>;

class Packer {
 public:
  explicit Packer(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void raw(const void* data, std::size_t size) {
    const std::size_t end = bytes_.size();
    bytes_.resize(end + size);
    if (size > 0) std::memcpy(bytes_.data() + end, data, size);
  }
  std::size_t count(std::size_t size, std::size_t) {
    raw(&size, sizeof size);
    return size;
  }

 private:
  std::vector<std::byte>& bytes_;
};

class Unpacker {
 public:
  Unpacker(std::span<const std::byte> bytes, const std::string& name) : bytes_(bytes), name_(name) {}
  void raw(void* data, std::size_t size) {
    if (size > bytes_.size()) fail();
    if (size > 0) std::memcpy(data, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  /// A count whose items, of at least `item_bytes` each, are there.
  std::size_t count(std::size_t, std::size_t item_bytes) {
    std::size_t size = 0;
    raw(&size, sizeof size);
    if (size > bytes_.size() / item_bytes) fail();
    return size;
  }
  bool done() const { return bytes_.empty(); }
  [[noreturn]] void fail() const {
    throw Error(fmt::format("{}: the importer failed; the file is damaged", name_));
  }

 private:
  std::span<const std::byte> bytes_;
  const std::string& name_;
};

// One description of each type serves both directions.
template <class Stream, class T>
void exchange(Stream& stream, T& value);

template <class Stream, class... Parts>
void exchange_all(Stream& stream, Parts&... parts) {
  (exchange(stream, parts), ...);
}

template <class Stream>
void parts(Stream& s, ImportedNode& n) {
  exchange_all(s, n.name, n.parent, n.local, n.meshes);
}
template <class Stream>
void parts(Stream& s, ImportedBone& b) {
  exchange_all(s, b.node, b.bone_from_mesh, b.vertices, b.weights);
}
template <class Stream>
void parts(Stream& s, ImportedMorph& m) {
  exchange_all(s, m.name, m.weight, m.positions);
}
template <class Stream>
void parts(Stream& s, ImportedMesh& m) {
  exchange_all(s, m.name, m.positions, m.normals, m.texcoords, m.corners, m.starts, m.bones, m.morphs);
}
template <class Stream>
void parts(Stream& s, ImportedChannel& c) {
  exchange_all(s, c.node, c.translation_times, c.rotation_times, c.scale_times, c.translations, c.scales,
               c.rotations);
}
template <class Stream>
void parts(Stream& s, ImportedMorphChannel& c) {
  exchange_all(s, c.node, c.times, c.starts, c.targets, c.weights);
}
template <class Stream>
void parts(Stream& s, ImportedClip& c) {
  exchange_all(s, c.name, c.channels, c.morph_channels);
}
template <class Stream>
void parts(Stream& s, ImportedScene& i) {
  exchange_all(s, i.nodes, i.meshes, i.clips, i.axes, i.axis_signs, i.centimetres_per_unit, i.messages);
}
template <class Stream>
void parts(Stream& s, std::string& text) {
  text.resize(s.count(text.size(), 1));
  s.raw(text.data(), text.size());
}
template <class Stream, class T>
void parts(Stream& s, std::vector<T>& items) {
  items.resize(s.count(items.size(), kPlain<T> ? sizeof(T) : sizeof(std::size_t)));
  if constexpr (kPlain<T>) {
    s.raw(items.data(), items.size() * sizeof(T));
  } else {
    for (T& item : items) exchange(s, item);
  }
}

template <class Stream, class T>
void exchange(Stream& stream, T& value) {
  if constexpr (kPlain<T>) {
    stream.raw(&value, sizeof value);
  } else {
    parts(stream, value);
  }
}

}  // namespace

std::vector<std::byte> pack(ImportedScene scene) {
  std::vector<std::byte> bytes;
  Packer packer(bytes);
  exchange(packer, scene);
  return bytes;
}

ImportedScene unpack(std::span<const std::byte> bytes, const std::string& name) {
  ImportedScene scene;
  Unpacker unpacker(bytes, name);
  exchange(unpacker, scene);
  if (!unpacker.done()) unpacker.fail();
  return scene;
}

}  // namespace sinew
