// Facade of the model layer: a Qwen3-VL checkpoint loaded for the kernels of this machine.
#pragma once

#include <filesystem>
#include <memory>

#include "base/status.h"
#include "model/config.h"
#include "model/mrope.h"
#include "model/text_decoder.h"
#include "model/vision_tower.h"
#include "tensor/weight_store.h"

namespace saccade {

// Immutable after loading and shared by everybody; the memory of the weights belongs to it.
class Model {
 public:
  // Reads config.json and the safetensors files of `directory` and packs the weights for the two parts.
  static Result<std::unique_ptr<const Model>> Load(const std::filesystem::path& directory,
                                                   WeightType text_weights, WeightType vision_weights,
                                                   KernelContext& context);

  const ModelConfig& config() const { return config_; }
  const TextDecoder& text() const { return text_; }
  const VisionTower& vision() const { return vision_; }
  WeightType text_weights() const { return text_weights_; }
  WeightType vision_weights() const { return vision_weights_; }
  size_t weight_bytes() const { return text_.bytes() + vision_.bytes(); }

 private:
  Model(ModelConfig config, WeightStore store) : config_(std::move(config)), store_(std::move(store)) {}

  ModelConfig config_;
  WeightStore store_;  // keeps the mapping of the embedding table alive
  WeightType text_weights_ = WeightType::kF32, vision_weights_ = WeightType::kF32;
  TextDecoder text_;
  VisionTower vision_;
};

// config.json of a checkpoint folder; the error names the file.
Result<ModelConfig> LoadModelConfig(const std::filesystem::path& directory);

}  // namespace saccade
