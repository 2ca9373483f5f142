// Writes single keys and values into the layouts that the attention tiles read (kernels/layout.h); used by
// the KV cache and by the keys and values of a picture alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace saccade {

// Key `lane` (0..15) of the block at `block`. f32 or bf16.
void StoreKey(KvType type, const float* key, int64_t head_dim, int64_t lane, std::byte* block);
// Value `slot` of the rows at `values`. f32 or bf16; an even bf16 slot zeroes its odd neighbour, so that
// values have to be written in order and a neighbour not yet written cannot bring in a stale NaN.
void StoreValue(KvType type, const float* value, int64_t head_dim, int64_t width, int64_t slot,
                std::byte* values);

}  // namespace saccade
