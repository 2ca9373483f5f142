// The architecture of a checkpoint as config.json gives it. Nothing about a model is known from anywhere
// else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

struct TextConfig {
  int64_t vocab = 0, hidden = 0, intermediate = 0;
  int layers = 0, q_heads = 0, kv_heads = 0, head_dim = 0;
  float rms_eps = 1e-6F;
  double rope_theta = 0;
  std::array<int, 3> mrope_section = {0, 0,
                                      0};  // rotary pairs driven by t, h, w; they add up to head_dim / 2
  bool tied_head = false;                  // the output head is the embedding table
  int64_t max_positions = 0;
};

enum class VisionActivation : uint8_t { kGeluTanh, kGeluErf };

struct VisionConfig {
  int64_t hidden = 0, intermediate = 0, out_hidden = 0;
  int depth = 0, heads = 0, in_channels = 3;
  int patch_size = 0, temporal_patch_size = 0, merge_size = 0;
  int grid_side = 0;  // the learned position grid is grid_side x grid_side
  double rope_theta = 10000;
  std::vector<int> deepstack_layers;  // features leave after these vision layers, in order
  VisionActivation activation = VisionActivation::kGeluTanh;
  int head_dim() const { return static_cast<int>(hidden) / heads; }
  int merged_patches() const { return merge_size * merge_size; }
};

struct ModelConfig {
  std::string model_type;
  TextConfig text;
  VisionConfig vision;
  int32_t image_token = -1, video_token = -1, vision_start_token = -1, vision_end_token = -1;

  // Weights counted from the shapes.
  int64_t TextParameters() const;
  int64_t VisionParameters() const;
};

// Parses config.json of the dense Qwen3-VL family, old (rope_scaling, rope_theta) and new (rope_parameters)
// spelling. Sizes are range-checked here so that later arithmetic cannot overflow.
Result<ModelConfig> ParseModelConfig(std::string_view json);

}  // namespace saccade
