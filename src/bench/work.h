// How much arithmetic and memory traffic a stage is made of.
#pragma once

#include <cstdint>

#include "model/model.h"

namespace saccade {

// Multiplications and additions.
struct StageWork {
  double matrix_ops = 0;     // products with weights
  double attention_ops = 0;  // scores and values
};

// One picture of so many patches through the tower, mergers included.
StageWork VisionWork(const VisionConfig& config, int64_t patches);
// A prompt of so many tokens without a past, logits of the last one only.
StageWork PrefillWork(const TextConfig& config, int64_t tokens);
// Bytes that one decode step of `batch` sequences with `past` tokens each has to read: the weights once, the
// KV cache of everybody.
double DecodeBytes(const TextConfig& config, int64_t weight_bytes, const KvLayout& layout, int64_t batch,
                   int64_t past);

}  // namespace saccade
