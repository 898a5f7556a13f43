#include <sinew/implicit/operator_cache.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include <sinew/core/error.h>

namespace sinew {

namespace {

static_assert(std::endian::native == std::endian::little, "tables are saved as they are in memory");

constexpr std::uint64_t kMagic = 0x4c42544f57454e53;  // "SNEWOTBL"
constexpr std::uint32_t kFormatVersion = 1;
// Rises whenever the same spec gives another table.
constexpr std::uint32_t kMethodVersion = 1;
constexpr std::size_t kStoredLanes = 3;  // the fourth is 0

// FNV-1a over words of eight bytes. Every step is one-to-one, so no single word can change unnoticed.
class Checksum {
 public:
  void add(std::uint64_t word) { sum_ = (sum_ ^ word) * 0x100000001b3; }
  void add(std::span<const std::byte> bytes) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
      add(word);
    }
    add(bytes.size());
  }
  std::uint64_t value() const { return sum_ ^ (sum_ >> 32); }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325;
};

std::uint64_t key_of(const OperatorTableSpec& spec) {
  Checksum sum;
  sum.add(kMethodVersion);
  sum.add(static_cast<std::uint64_t>(spec.kind));
  sum.add(static_cast<std::uint64_t>(spec.nodes));
  sum.add(static_cast<std::uint64_t>(spec.slices));
  sum.add(spec.profile.contact ? 1 : 0);
  sum.add(spec.profile.points.size());
  for (const Eigen::Vector2d& point : spec.profile.points)
    for (const double coordinate : {point.x(), point.y()})
      sum.add(std::bit_cast<std::uint64_t>(coordinate + 0.0));  // -0 is 0
  return sum.value();
}

class Writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
  }
  void reserve(std::size_t size) { bytes_.reserve(size); }
  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    if (bytes_.size() < sizeof(T)) throw Error("operator table: ends too early");
    T value;
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_ = bytes_.subspan(sizeof value);
    return value;
  }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
};

OperatorTableSpec read_spec(Reader& reader) {
  OperatorTableSpec spec;
  const auto kind = reader.get<std::uint32_t>();
  if (kind > static_cast<std::uint32_t>(OperatorKind::profile))
    throw Error(fmt::format("operator table: there is no operator {}", kind));
  spec.kind = static_cast<OperatorKind>(kind);
  spec.nodes = reader.get<std::int32_t>();
  spec.slices = reader.get<std::int32_t>();
  const auto contact = reader.get<std::uint32_t>();
  if (contact > 1) throw Error("operator table: its profile has contact or not");
  spec.profile.contact = contact == 1;
  const auto points = reader.get<std::uint32_t>();
  if (points > OperatorProfile::kMostPoints)
    throw Error(fmt::format("operator table: {} points of its profile, at most {} are allowed", points,
                            OperatorProfile::kMostPoints));
  spec.profile.points.resize(points);
  for (Eigen::Vector2d& point : spec.profile.points)
    for (double& coordinate : point) coordinate = reader.get<double>();
  validate(spec);
  return spec;
}

}  // namespace

std::string content_key(const OperatorTableSpec& spec) {
  return fmt::format("{}-{:016x}", name_of(spec.kind), key_of(spec));
}

std::vector<std::byte> to_bytes(const OperatorTable& table) {
  const OperatorTableSpec& spec = table.spec();
  Writer writer;
  writer.reserve(table.nodes().size() * kStoredLanes * sizeof(float) + 512);
  writer.put(kMagic);
  writer.put(kFormatVersion);
  writer.put(kMethodVersion);
  writer.put(key_of(spec));
  writer.put(static_cast<std::uint32_t>(spec.kind));
  writer.put(static_cast<std::int32_t>(spec.nodes));
  writer.put(static_cast<std::int32_t>(spec.slices));
  writer.put(std::uint32_t{spec.profile.contact});
  writer.put(static_cast<std::uint32_t>(spec.profile.points.size()));
  for (const Eigen::Vector2d& point : spec.profile.points)
    for (const double coordinate : point) writer.put(coordinate);
  for (const OperatorTable::Node& node : table.nodes())
    for (std::size_t lane = 0; lane < kStoredLanes; ++lane) writer.put(node.lanes[lane]);
  Checksum sum;
  sum.add(writer.bytes());
  writer.put(sum.value());
  return writer.take();
}

OperatorTable from_bytes(std::span<const std::byte> bytes) {
  constexpr std::size_t kSumSize = sizeof(std::uint64_t);
  if (bytes.size() < 2 * kSumSize) throw Error("operator table: ends too early");
  Reader reader(bytes.first(bytes.size() - kSumSize));
  if (reader.get<std::uint64_t>() != kMagic) throw Error("operator table: not one");
  const auto format = reader.get<std::uint32_t>();
  if (format != kFormatVersion)
    throw Error(fmt::format("operator table: of format {}, only {} is known", format, kFormatVersion));
  const auto method = reader.get<std::uint32_t>();
  if (method != kMethodVersion)
    throw Error(
        fmt::format("operator table: built by version {} of the method, not {}", method, kMethodVersion));
  Checksum sum;
  sum.add(bytes.first(bytes.size() - kSumSize));
  if (Reader(bytes.last(kSumSize)).get<std::uint64_t>() != sum.value())
    throw Error("operator table: damaged, its checksum differs");

  const auto key = reader.get<std::uint64_t>();
  const OperatorTableSpec spec = read_spec(reader);
  if (key != key_of(spec)) throw Error("operator table: has the key of another one");
  const std::size_t count = OperatorTable::node_count(spec);
  if (reader.left() != count * kStoredLanes * sizeof(float))
    throw Error(fmt::format("operator table: {} bytes of nodes, not {}", reader.left(),
                            count * kStoredLanes * sizeof(float)));
  // Values are within [0, 1] and slopes are their differences; the corners that make cells on the diagonal
  // linear are sums of three.
  const float most_slope = 1.5f * static_cast<float>(spec.nodes);
  std::vector<OperatorTable::Node> nodes(count);
  for (OperatorTable::Node& node : nodes) {
    for (std::size_t lane = 0; lane < kStoredLanes; ++lane) node.lanes[lane] = reader.get<float>();
    // False for NaN, too.
    if (!(node.lanes[0] >= -1 && node.lanes[0] <= 2 && std::abs(node.lanes[1]) <= most_slope &&
          std::abs(node.lanes[2]) <= most_slope))
      throw Error(fmt::format("operator table: node of value {} and slopes {}, {}", node.lanes[0],
                              node.lanes[1], node.lanes[2]));
  }
  return OperatorTable(spec, std::move(nodes));
}

}  // namespace sinew
