// All tensors of a checkpoint folder by name: one model.safetensors or the shards of its index.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "tensor/mmap_file.h"
#include "tensor/tensor.h"

namespace saccade {

// Maps the files read-only; views stay valid as long as the store lives. Thread-safe to read.
class WeightStore {
 public:
  // Reads model.safetensors.index.json when it is there, else model.safetensors.
  static Result<WeightStore> Open(const std::filesystem::path& directory);

  // The tensor `name`, which must be floating point and have exactly `shape`. The error names the tensor, the
  // expected and the found shape.
  Result<TensorView> Get(std::string_view name, std::span<const int64_t> shape) const;
  Result<TensorView> Get(std::string_view name, std::initializer_list<int64_t> shape) const {
    return Get(name, std::span<const int64_t>(shape.begin(), shape.size()));
  }
  bool Contains(std::string_view name) const { return tensors_.find(name) != tensors_.end(); }
  // Drops the tensor's file pages from resident memory after it was copied elsewhere.
  void Release(const TensorView& tensor) const;

  const std::map<std::string, TensorView, std::less<>>& tensors() const { return tensors_; }

 private:
  std::vector<MmapFile> files_;
  std::map<std::string, TensorView, std::less<>> tensors_;
};

}  // namespace saccade
