#include "model/weight_size.h"

#include "kernels/kernels.h"

namespace saccade {
namespace {

int64_t Packed(WeightType type, int64_t n, int64_t k) {
  return static_cast<int64_t>(PackedBytes(type, n, k));
}

int64_t TextBytes(const TextConfig& text, WeightType type) {
  const int64_t q = int64_t{text.q_heads} * text.head_dim, kv = int64_t{text.kv_heads} * text.head_dim;
  const int64_t layer = Packed(type, q + 2 * kv, text.hidden) + Packed(type, text.hidden, q) +
                        2 * Packed(type, text.intermediate, text.hidden) +
                        Packed(type, text.hidden, text.intermediate);
  const WeightType head = type == WeightType::kInt4 ? WeightType::kInt8 : type;  // Precision::kSensitive
  return text.layers * layer + Packed(head, text.vocab, text.hidden);
}

int64_t VisionBytes(const VisionConfig& vision, WeightType type) {
  const int64_t block =
      Packed(type, 3 * vision.hidden, vision.hidden) + Packed(type, vision.hidden, vision.hidden) +
      Packed(type, vision.intermediate, vision.hidden) + Packed(type, vision.hidden, vision.intermediate);
  const int64_t merged = vision.hidden * vision.merged_patches();
  const int64_t merger = Packed(type, merged, merged) + Packed(type, vision.out_hidden, merged);
  return vision.depth * block + (1 + static_cast<int64_t>(vision.deepstack_layers.size())) * merger +
         Packed(type, vision.hidden, int64_t{3} * vision.patch_size * vision.patch_size) +
         int64_t{4} * vision.grid_side * vision.grid_side * vision.hidden;
}

}  // namespace

WeightBytes EstimateWeightBytes(const ModelConfig& config, WeightTypes types) {
  return {TextBytes(config.text, types.text), VisionBytes(config.vision, types.vision)};
}

}  // namespace saccade
