// Facade of the model layer: a Qwen3-VL checkpoint loaded for the kernels of this machine.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "base/file_set.h"
#include "base/status.h"
#include "model/config.h"
#include "model/mrope.h"
#include "model/text_decoder.h"
#include "model/vision_tower.h"
#include "model/weight_cache.h"
#include "model/weight_size.h"
#include "tensor/weight_store.h"

namespace saccade {

// Immutable after loading and shared by everybody; the memory or mapping of the weights belongs to it.
class Model {
 public:
  // `source` is a checkpoint folder (config.json and safetensors files) or a weight file of `saccade
  // quantize`, whose own types are used. Maps a weight file or packs the weights, see WeightOptions.
  static Result<std::unique_ptr<const Model>> Load(const std::filesystem::path& source,
                                                   const WeightOptions& options, KernelContext& context);

  const ModelConfig& config() const { return config_; }
  const TextDecoder& text() const { return text_; }
  const VisionTower& vision() const { return vision_; }
  WeightTypes types() const { return types_; }
  const WeightOrigin& origin() const { return origin_; }
  // The small files beside the weights.
  const FileSet& files() const { return *files_; }
  size_t weight_bytes() const { return text_.bytes() + vision_.bytes(); }

 private:
  Model() = default;
  Status OpenFolder(const std::filesystem::path& folder, const WeightOptions& options,
                    KernelContext& context);
  Status OpenFile(const std::filesystem::path& path, KernelContext& context);
  Status LoadParts(WeightSource& source);

  ModelConfig config_;
  WeightTypes types_;
  WeightOrigin origin_;
  // One of the two holds the weights: a mapped weight file, or the checkpoint whose embedding table is read
  // in place.
  std::optional<PackFile> packed_;
  std::optional<WeightStore> store_;
  std::unique_ptr<FileSet> files_;
  TextDecoder text_;
  VisionTower vision_;
};

// config.json of a checkpoint; the error names the file.
Result<ModelConfig> LoadModelConfig(const FileSet& files);

}  // namespace saccade
