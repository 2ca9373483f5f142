#include "bench/work.h"

namespace saccade {
namespace {

double Product(int64_t rows, int64_t n, int64_t k) {
  return 2.0 * static_cast<double>(rows) * static_cast<double>(n) * static_cast<double>(k);
}

}  // namespace

StageWork VisionWork(const VisionConfig& config, int64_t patches) {
  const int64_t h = config.hidden, merged = h * config.merged_patches(),
                tokens = patches / config.merged_patches();
  const int64_t inputs = int64_t{config.in_channels} * config.patch_size * config.patch_size;
  const auto mergers = static_cast<double>(1 + config.deepstack_layers.size());
  StageWork work;
  work.matrix_ops =
      Product(patches, h, inputs) +
      config.depth * (Product(patches, 4 * h, h) + 2 * Product(patches, config.intermediate, h)) +
      mergers * (Product(tokens, merged, merged) + Product(tokens, config.out_hidden, merged));
  work.attention_ops = config.depth * 2.0 * Product(patches, patches, h);
  return work;
}

StageWork PrefillWork(const TextConfig& config, int64_t tokens) {
  const int64_t q = int64_t{config.q_heads} * config.head_dim,
                kv = int64_t{config.kv_heads} * config.head_dim;
  StageWork work;
  work.matrix_ops =
      config.layers * (Product(tokens, q + 2 * kv, config.hidden) + Product(tokens, config.hidden, q) +
                       3 * Product(tokens, config.intermediate, config.hidden)) +
      Product(1, config.vocab, config.hidden);
  // Half of the pairs are masked.
  work.attention_ops = config.layers * Product(tokens, tokens, q);
  return work;
}

double DecodeBytes(const TextConfig& config, int64_t weight_bytes, const KvLayout& layout, int64_t batch,
                   int64_t past) {
  const double token_bytes =
      static_cast<double>(layout.PageBytes()) * config.layers / static_cast<double>(layout.page_tokens);
  return static_cast<double>(weight_bytes) + token_bytes * static_cast<double>(batch * past);
}

}  // namespace saccade
