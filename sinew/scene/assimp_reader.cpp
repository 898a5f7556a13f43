#include <sinew/scene/assimp_reader.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <assimp/config.h>
#include <assimp/scene.h>
#include <fmt/format.h>
#include <assimp/DefaultLogger.hpp>
#include <assimp/IOStream.hpp>
#include <assimp/IOSystem.hpp>
#include <assimp/Importer.hpp>
#include <assimp/LogStream.hpp>

#include <sinew/core/error.h>

namespace sinew {

namespace {

class MemoryStream : public Assimp::IOStream {
 public:
  explicit MemoryStream(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t Read(void* buffer, size_t size, size_t count) override {
    if (size == 0) return 0;
    const size_t items = std::min(count, (bytes_.size() - place_) / size);
    if (items > 0) std::memcpy(buffer, bytes_.data() + place_, items * size);
    place_ += items * size;
    return items;
  }
  size_t Write(const void*, size_t, size_t) override { return 0; }
  aiReturn Seek(size_t offset, aiOrigin origin) override {
    const size_t base = origin == aiOrigin_SET ? 0 : origin == aiOrigin_CUR ? place_ : bytes_.size();
    if (offset > bytes_.size() - base) return aiReturn_FAILURE;
    place_ = base + offset;
    return aiReturn_SUCCESS;
  }
  size_t Tell() const override { return place_; }
  size_t FileSize() const override { return bytes_.size(); }
  void Flush() override {}

 private:
  std::span<const std::byte> bytes_;
  size_t place_ = 0;
};

/// A file system with one file in it.
class MemoryFiles : public Assimp::IOSystem {
 public:
  MemoryFiles(std::string path, std::span<const std::byte> bytes) : path_(std::move(path)), bytes_(bytes) {}

  bool Exists(const char* path) const override { return path_ == path; }
  char getOsSeparator() const override { return '/'; }
  Assimp::IOStream* Open(const char* path, const char*) override {
    return path_ == path ? new MemoryStream(bytes_) : nullptr;
  }
  void Close(Assimp::IOStream* stream) override { delete stream; }

 private:
  std::string path_;
  std::span<const std::byte> bytes_;
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text.substr(0, 300);
}

/// Assimp goes on where a part of the file is wrong and only logs it; the user should hear of it.
class ErrorLog : public Assimp::LogStream {
 public:
  explicit ErrorLog(std::vector<std::string>& messages) : messages_(messages) {}
  void write(const char* message) override {
    std::string text = one_line(message);
    if (text.starts_with("Error, T")) text.erase(0, std::min(text.size(), text.find(": ") + 2));
    // Materials were not asked for.
    if (text.find("material") != text.npos || text.find("texture") != text.npos) return;
    if (messages_.size() < kMost) messages_.push_back(std::move(text));
  }

 private:
  static constexpr std::size_t kMost = 10;
  std::vector<std::string>& messages_;
};

/// Assimp has one log for all; it is ours while this lives.
class LogErrors {
 public:
  explicit LogErrors(std::vector<std::string>& messages) : log_(messages) {
    Assimp::DefaultLogger::create(nullptr, Assimp::Logger::NORMAL, 0);
    Assimp::DefaultLogger::get()->attachStream(&log_, Assimp::Logger::Err);
  }
  LogErrors(const LogErrors&) = delete;
  LogErrors& operator=(const LogErrors&) = delete;
  ~LogErrors() {
    Assimp::DefaultLogger::get()->detachStream(&log_, Assimp::Logger::Err);
    Assimp::DefaultLogger::kill();
  }

 private:
  ErrorLog log_;
};

std::string text_of(const aiString& text) {
  return {text.data, std::min<size_t>(text.length, sizeof(text.data) - 1)};
}
Vec3f vector_of(const aiVector3D& v) {
  return {v.x, v.y, v.z};
}
Mat4f matrix_of(const aiMatrix4x4& m) {
  Mat4f matrix;
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned column = 0; column < 4; ++column)
      matrix(static_cast<int>(row), static_cast<int>(column)) = m[row][column];
  return matrix;
}

void copy_nodes(const aiScene& from, ImportedScene& scene) {
  // Depth first with a list of our own: depth is the file's choice.
  std::vector<std::pair<const aiNode*, int>> open{{from.mRootNode, -1}};
  while (!open.empty()) {
    const auto [node, parent] = open.back();
    open.pop_back();
    const int index = static_cast<int>(scene.nodes.size());
    ImportedNode copy;
    copy.name = text_of(node->mName);
    copy.parent = parent;
    copy.local = matrix_of(node->mTransformation);
    copy.meshes.assign(node->mMeshes, node->mMeshes + node->mNumMeshes);
    scene.nodes.push_back(std::move(copy));
    for (unsigned i = node->mNumChildren; i-- > 0;) open.emplace_back(node->mChildren[i], index);
  }
}

ImportedMesh copy_mesh(const aiMesh& from) {
  ImportedMesh mesh;
  mesh.name = text_of(from.mName);
  const size_t count = from.mNumVertices;
  const auto copy_vectors = [&](const aiVector3D* vectors) {
    std::vector<Vec3f> copy;
    if (vectors == nullptr) return copy;
    copy.reserve(count);
    for (size_t v = 0; v < count; ++v) copy.push_back(vector_of(vectors[v]));
    return copy;
  };
  mesh.positions = copy_vectors(from.mVertices);
  mesh.normals = copy_vectors(from.mNormals);
  if (const aiVector3D* texcoords = from.mTextureCoords[0])
    for (size_t v = 0; v < count; ++v) mesh.texcoords.emplace_back(texcoords[v].x, texcoords[v].y);
  mesh.starts.push_back(0);
  for (unsigned f = 0; f < from.mNumFaces; ++f) {
    const aiFace& face = from.mFaces[f];
    mesh.corners.insert(mesh.corners.end(), face.mIndices, face.mIndices + face.mNumIndices);
    mesh.starts.push_back(static_cast<std::uint32_t>(mesh.corners.size()));
  }
  for (unsigned b = 0; b < from.mNumBones; ++b) {
    const aiBone& bone = *from.mBones[b];
    ImportedBone copy;
    copy.node = text_of(bone.mName);
    copy.bone_from_mesh = matrix_of(bone.mOffsetMatrix);
    for (unsigned w = 0; w < bone.mNumWeights; ++w) {
      copy.vertices.push_back(bone.mWeights[w].mVertexId);
      copy.weights.push_back(bone.mWeights[w].mWeight);
    }
    mesh.bones.push_back(std::move(copy));
  }
  for (unsigned m = 0; m < from.mNumAnimMeshes; ++m) {
    const aiAnimMesh& morph = *from.mAnimMeshes[m];
    ImportedMorph copy;
    copy.name = text_of(morph.mName);
    copy.weight = morph.mWeight;
    if (morph.mVertices != nullptr && morph.mNumVertices == from.mNumVertices)
      copy.positions = copy_vectors(morph.mVertices);
    mesh.morphs.push_back(std::move(copy));
  }
  return mesh;
}

ImportedClip copy_clip(const aiAnimation& from) {
  ImportedClip clip;
  clip.name = text_of(from.mName);
  // Assimp's own advice for files that do not say.
  const double ticks = from.mTicksPerSecond > 0 ? from.mTicksPerSecond : 25.0;
  for (unsigned c = 0; c < from.mNumChannels; ++c) {
    const aiNodeAnim& channel = *from.mChannels[c];
    ImportedChannel copy;
    copy.node = text_of(channel.mNodeName);
    for (unsigned k = 0; k < channel.mNumPositionKeys; ++k) {
      copy.translation_times.push_back(channel.mPositionKeys[k].mTime / ticks);
      copy.translations.push_back(vector_of(channel.mPositionKeys[k].mValue));
    }
    for (unsigned k = 0; k < channel.mNumRotationKeys; ++k) {
      const aiQuaternion& q = channel.mRotationKeys[k].mValue;
      copy.rotation_times.push_back(channel.mRotationKeys[k].mTime / ticks);
      copy.rotations.emplace_back(q.x, q.y, q.z, q.w);
    }
    for (unsigned k = 0; k < channel.mNumScalingKeys; ++k) {
      copy.scale_times.push_back(channel.mScalingKeys[k].mTime / ticks);
      copy.scales.push_back(vector_of(channel.mScalingKeys[k].mValue));
    }
    clip.channels.push_back(std::move(copy));
  }
  for (unsigned c = 0; c < from.mNumMorphMeshChannels; ++c) {
    const aiMeshMorphAnim& channel = *from.mMorphMeshChannels[c];
    ImportedMorphChannel copy;
    copy.node = text_of(channel.mName);
    // Assimp's FBX importer writes "node*0".
    copy.node = copy.node.substr(0, copy.node.find('*'));
    copy.starts.push_back(0);
    for (unsigned k = 0; k < channel.mNumKeys; ++k) {
      const aiMeshMorphKey& key = channel.mKeys[k];
      copy.times.push_back(key.mTime / ticks);
      for (unsigned i = 0; i < key.mNumValuesAndWeights; ++i) {
        copy.targets.push_back(key.mValues[i]);
        copy.weights.push_back(static_cast<float>(key.mWeights[i]));
      }
      copy.starts.push_back(static_cast<std::uint32_t>(copy.targets.size()));
    }
    clip.morph_channels.push_back(std::move(copy));
  }
  return clip;
}

void copy_space(const aiMetadata* metadata, ImportedScene& scene) {
  if (metadata == nullptr) return;
  const std::array<const char*, 3> keys{"CoordAxis", "UpAxis", "FrontAxis"};
  for (size_t i = 0; i < keys.size(); ++i) {
    std::int32_t axis = -1, sign = 1;
    if (metadata->Get(keys[i], axis)) scene.axes[i] = axis;
    if (metadata->Get(std::string(keys[i]) + "Sign", sign)) scene.axis_signs[i] = sign;
  }
  float unit = 1;
  if (metadata->Get("UnitScaleFactor", unit)) scene.centimetres_per_unit = unit;
}

}  // namespace

ImportedScene read_with_assimp(std::span<const std::byte> bytes, const std::string& kind,
                               const std::string& name) {
  // Assimp picks its importer by the extension, and no other looks at the bytes.
  const std::string path = "file." + kind;
  ImportedScene result;
  try {
    const LogErrors log(result.messages);
    Assimp::Importer importer;
    importer.SetIOHandler(new MemoryFiles(path, bytes));  // the importer deletes it
    // What we do not use can do no harm; without materials a mesh also stays in one piece.
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_READ_MATERIALS, false);
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_READ_TEXTURES, false);
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_READ_CAMERAS, false);
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_READ_LIGHTS, false);
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_READ_ALL_GEOMETRY_LAYERS, false);
    // Else every pivot becomes a node of its own.
    importer.SetPropertyBool(AI_CONFIG_IMPORT_FBX_PRESERVE_PIVOTS, false);
    importer.SetPropertyBool(AI_CONFIG_IMPORT_REMOVE_EMPTY_BONES, false);
    importer.SetPropertyBool(AI_CONFIG_IMPORT_COLLADA_USE_COLLADA_NAMES, true);
    const aiScene* scene = importer.ReadFile(path, 0);
    if (scene == nullptr || scene->mRootNode == nullptr)
      throw Error(fmt::format("{}: {}", name, one_line(importer.GetErrorString())));
    copy_nodes(*scene, result);
    for (unsigned m = 0; m < scene->mNumMeshes; ++m) result.meshes.push_back(copy_mesh(*scene->mMeshes[m]));
    for (unsigned a = 0; a < scene->mNumAnimations; ++a)
      result.clips.push_back(copy_clip(*scene->mAnimations[a]));
    copy_space(scene->mMetaData, result);
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(fmt::format("{}: {}", name, one_line(error.what())));
  }
  return result;
}

}  // namespace sinew
