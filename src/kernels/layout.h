// Byte layouts that micro-kernels of every ISA agree on: packed weights and KV pages. Constants and small
// plain functions only. ISA files include kernels/tile.h instead, which has no functions at all.
//
// Packed weights. Rows of W (columns of the product) are cut into blocks of kBlockColumns, zero-padded at the
// end; a block is contiguous. Inside a block, k runs in steps of one 32-bit word per column:
//   f32   [k][32] floats
//   bf16  [ceil(k / 2)][32][2] bf16
//   int8  [ceil(k / 64)] groups of { scales, [16][32][4] uint8 = weight + 128 }
//   int4  [ceil(k / 64)] groups of { scales, [16][16][4] bytes: low nibble column c, high nibble column 16 +
//   c },
//         a nibble being an index into kInt4Levels
// scales: 32 bf16, interleaved so that the 32-bit lane c holds column c below and column 16 + c above.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/tile.h"

namespace saccade {

constexpr int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
constexpr int64_t RoundUp(int64_t a, int64_t b) { return CeilDiv(a, b) * b; }

static_assert(kQuantGroup == kGroupSize);

// Words per column of one block row: how many steps the micro-kernels take along k.
constexpr int64_t WordSteps(WeightType type, int64_t k) {
  switch (type) {
    case WeightType::kF32:
      return k;
    case WeightType::kBf16:
      return CeilDiv(k, 2);
    case WeightType::kInt8:
    case WeightType::kInt4:
      return CeilDiv(k, kGroupSize) * kGroupSteps;
  }
  return 0;
}

constexpr size_t BlockBytes(WeightType type, int64_t k) {
  switch (type) {
    case WeightType::kF32:
    case WeightType::kBf16:
      return static_cast<size_t>(WordSteps(type, k)) * kBlockColumns * 4;
    case WeightType::kInt8:
      return static_cast<size_t>(CeilDiv(k, kGroupSize)) * kInt8GroupBytes;
    case WeightType::kInt4:
      return static_cast<size_t>(CeilDiv(k, kGroupSize)) * kInt4GroupBytes;
  }
  return 0;
}

// Blocks of the matrix in memory order. In a gate_up matrix block 2i is gate, block 2i + 1 is up.
constexpr int64_t BlockCount(const PackedMatrix& matrix) {
  return matrix.gate_up ? 2 * CeilDiv(matrix.n / 2, kBlockColumns) : CeilDiv(matrix.n, kBlockColumns);
}

// Where scale `column` (0..31) of a quantised group lies among its 32 bf16 values.
constexpr int ScaleIndex(int column) { return column < 16 ? 2 * column : 2 * (column - 16) + 1; }

// One KV page of one layer, per KV head: keys in blocks of 16 tokens, then values, then (int8) scales of
// both.
//   f32   keys [T / 16][D][16],        values [T][Dv]
//   bf16  keys [T / 16][Dk / 2][16][2], values [T / 2][Dv][2]
//   int8  keys [T / 16][D][16],        values [T][Dv], key scales [T] f32, value scales [T] f32
// with T = page_tokens, D = head_dim, Dk = D rounded up to even, Dv = D rounded up to 16.
struct KvHeadLayout {
  int64_t head_dim = 0;
  int64_t key_words = 0;     // 32-bit words (bytes for int8) of one token's key
  int64_t value_width = 0;   // Dv
  size_t values_offset = 0;  // bytes from the start of the head
  size_t scales_offset = 0;  // int8: key scales; value scales follow after page_tokens floats
  size_t head_bytes = 0;     // a multiple of 64
};

constexpr KvHeadLayout MakeKvHeadLayout(KvType type, int64_t head_dim, int64_t page_tokens) {
  KvHeadLayout layout;
  layout.head_dim = head_dim;
  layout.key_words = type == KvType::kBf16 ? CeilDiv(head_dim, 2) : head_dim;
  layout.value_width = RoundUp(head_dim, kKeyBlock);
  const int64_t key_bytes = type == KvType::kInt8 ? layout.key_words : layout.key_words * 4;
  const int64_t element = type == KvType::kInt8 ? 1 : type == KvType::kBf16 ? 2 : 4;
  layout.values_offset = static_cast<size_t>(RoundUp(page_tokens * key_bytes, 64));
  const int64_t value_bytes = RoundUp(page_tokens * layout.value_width * element, 64);
  layout.scales_offset = layout.values_offset + static_cast<size_t>(value_bytes);
  const int64_t scale_bytes = type == KvType::kInt8 ? RoundUp(page_tokens * 8, 64) : 0;
  layout.head_bytes = layout.scales_offset + static_cast<size_t>(scale_bytes);
  return layout;
}

}  // namespace saccade
