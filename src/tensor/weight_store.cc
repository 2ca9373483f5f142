#include "tensor/weight_store.h"

#include <fmt/format.h>

#include <set>

#include "base/file.h"
#include "base/json.h"
#include "tensor/safetensors.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxIndexBytes = 64 << 20;

// "name -> shard file" of model.safetensors.index.json. Shards must lie in the checkpoint folder itself.
Result<std::map<std::string, std::string>> ReadIndex(const fs::path& path) {
  SACCADE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxIndexBytes));
  JsonLimits limits;
  limits.max_bytes = kMaxIndexBytes;
  SACCADE_ASSIGN_OR_RETURN(const Json index, ParseJson(text, limits));
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object()) {
    return InvalidArgument("no weight_map object");
  }
  std::map<std::string, std::string> shards;
  for (const auto& [name, file] : index["weight_map"].items()) {
    if (!file.is_string()) return InvalidArgument("weight_map entry \"{}\" is not a file name", name);
    const std::string& shard = file.get_ref<const std::string&>();
    if (shard.empty() || fs::path(shard).filename() != fs::path(shard) || shard == "..") {
      return InvalidArgument("weight_map entry \"{}\" names \"{}\", which is not a plain file name", name,
                             shard);
    }
    shards.emplace(name, shard);
  }
  return shards;
}

Result<std::map<std::string, TensorView>> OpenFile(const fs::path& path, std::vector<MmapFile>& files) {
  SACCADE_ASSIGN_OR_RETURN(MmapFile file, MmapFile::Open(path));
  Result<std::map<std::string, TensorView>> tensors = ParseSafetensors(file.bytes());
  if (!tensors.ok()) return std::move(tensors).status().WithContext(path.string());
  files.push_back(std::move(file));
  return tensors;
}

}  // namespace

Result<WeightStore> WeightStore::Open(const fs::path& directory) {
  WeightStore store;
  const fs::path index_path = directory / "model.safetensors.index.json";
  const fs::path single_path = directory / "model.safetensors";
  std::error_code ignored;
  if (!fs::exists(index_path, ignored)) {
    if (!fs::exists(single_path, ignored)) {
      return NotFound("{} has neither model.safetensors nor model.safetensors.index.json",
                      directory.string());
    }
    SACCADE_ASSIGN_OR_RETURN(auto tensors, OpenFile(single_path, store.files_));
    store.tensors_.insert(tensors.begin(), tensors.end());
    return store;
  }
  Result<std::map<std::string, std::string>> index = ReadIndex(index_path);
  if (!index.ok()) return std::move(index).status().WithContext(index_path.string());
  std::set<std::string> shard_names;
  for (const auto& [name, shard] : *index) shard_names.insert(shard);
  std::map<std::string, std::map<std::string, TensorView>> shards;
  for (const std::string& shard : shard_names) {
    SACCADE_ASSIGN_OR_RETURN(shards[shard], OpenFile(directory / shard, store.files_));
  }
  for (const auto& [name, shard] : *index) {
    const auto found = shards[shard].find(name);
    if (found == shards[shard].end()) {
      return InvalidArgument("{}: the index says that {} holds tensor \"{}\" but it does not",
                             index_path.string(), shard, name);
    }
    store.tensors_.emplace(name, found->second);
  }
  return store;
}

Result<TensorView> WeightStore::Get(std::string_view name, std::span<const int64_t> shape) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) {
    return InvalidArgument("checkpoint lacks tensor \"{}\", expected with shape {}", name,
                           ShapeString(shape));
  }
  const TensorView& tensor = found->second;
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    return InvalidArgument("tensor \"{}\" has shape {}, expected {}", name, tensor.ShapeString(),
                           ShapeString(shape));
  }
  if (tensor.dtype != DType::kF32 && tensor.dtype != DType::kF16 && tensor.dtype != DType::kBf16) {
    return Unsupported("tensor \"{}\" has type {}, expected F32, F16 or BF16", name, DTypeName(tensor.dtype));
  }
  return tensor;
}

void WeightStore::Release(const TensorView& tensor) const {
  for (const MmapFile& file : files_) {
    const auto bytes = file.bytes();
    if (tensor.bytes.data() >= bytes.data() && tensor.bytes.data() < bytes.data() + bytes.size()) {
      file.Release(tensor.bytes);
    }
  }
}

}  // namespace saccade
