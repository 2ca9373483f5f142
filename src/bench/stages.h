// Single stages of the model with made-up input of the right shape, repeatable as often as one likes.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.h"

namespace saccade {

// One picture through the vision tower. One driver thread.
class VisionStage {
 public:
  VisionStage(const VisionTower& tower, int grid_h, int grid_w);
  int64_t patches() const { return grid_.patches(); }
  Status Run(KernelContext& context);

 private:
  const VisionTower& tower_;
  const GridThw grid_;
  std::vector<uint8_t> pixels_;
};

// Prompts and decode steps of the text decoder over a cache of its own. One driver thread.
class TextStage {
 public:
  // Room for `sequences` sequences of `tokens` tokens each.
  static Result<std::unique_ptr<TextStage>> Make(const TextDecoder& decoder, KvType kv, int sequences,
                                                 int64_t tokens);

  const KvLayout& layout() const { return cache_.layout; }
  // Tokens [0, tokens) of sequence 0, in slices of at most `slice`; logits of the last one.
  Status Prefill(KernelContext& context, int64_t tokens, int64_t slice);
  // One token for each of the first `batch` sequences, all at position `past`.
  Status Decode(KernelContext& context, int batch, int64_t past);

 private:
  explicit TextStage(const TextDecoder& decoder) : decoder_(decoder) {}
  Status Forward(KernelContext& context, std::span<const SequenceRows> sequences, int64_t rows,
                 int64_t position, bool same_position, std::span<const int64_t> logit_rows);

  const TextDecoder& decoder_;
  AlignedBuffer memory_;
  KvCacheView cache_;
  std::vector<std::vector<int32_t>> pages_;  // of every sequence
  TextScratch scratch_;
  std::vector<float> logits_;
};

}  // namespace saccade
