#include "kernels/attention/row_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/layout.h"

namespace saccade {
namespace {

// Below every score; finite, so that differences of two of them are not NaN.
constexpr float kNothingSeen = -1.0e30F;
constexpr float kLog2E = 1.44269504F;

// How far ahead of the loads memory is asked for.
constexpr int64_t kPrefetchDistance = 4096;

PrefetchRange Ahead(const void* start, int64_t bytes) {
  if (bytes <= kPrefetchDistance) return {start, 0};
  return {static_cast<const std::byte*>(start) + kPrefetchDistance, bytes - kPrefetchDistance};
}

}  // namespace

size_t RowBlock::ScratchBytes(const Shape& shape) {
  const int64_t words = kAttentionRows * shape.words + RoundUp(shape.words, 16) + kQueryTile * kScoreStride +
                        kAttentionRows * (shape.value_width + kSumLanes + 3);
  return static_cast<size_t>(RoundUp(words, 16)) * 4;
}

RowBlock::RowBlock(const KernelSet& kernels, const Shape& shape, std::byte* scratch)
    : kernels_(kernels), shape_(shape), scale_(kLog2E / std::sqrt(static_cast<float>(shape.head_dim))) {
  switch (shape.elements) {
    case Elements::kF32:
      attention_ = kernels.attention_f32;
      break;
    case Elements::kBf16:
      attention_ = kernels.attention_bf16;
      break;
  }
  if (attention_.softmax == nullptr) attention_.softmax = kernels.attention_f32.softmax;
  scores_ = reinterpret_cast<float*>(scratch);
  o_ = scores_ + kQueryTile * kScoreStride;
  sums_ = o_ + kAttentionRows * shape.value_width;
  max_ = sums_ + kAttentionRows * kSumLanes;
  alpha_ = max_ + kAttentionRows;
  visible_ = reinterpret_cast<int32_t*>(alpha_ + kAttentionRows);
  query_ = reinterpret_cast<uint32_t*>(visible_ + kAttentionRows);
  row_ = query_ + kAttentionRows * shape.words;
}

void RowBlock::Start(int64_t rows) {
  rows_ = rows;
  std::fill_n(max_, rows, kNothingSeen);
  std::fill_n(sums_, rows * kSumLanes, 0.0F);
  std::fill_n(o_, rows * shape_.value_width, 0.0F);
}

void RowBlock::SetQuery(int64_t row, const float* q) {
  const int64_t first = row / kQueryTile * kQueryTile;
  const int64_t stride = std::min<int64_t>(kQueryTile, rows_ - first);
  uint32_t* target = query_ + first * shape_.words + row % kQueryTile;
  if (shape_.elements == Elements::kBf16) {
    kernels_.round_row({q, shape_.head_dim, row_, shape_.words, nullptr, nullptr});
  } else {
    std::memcpy(row_, q, static_cast<size_t>(shape_.head_dim) * 4);
  }
  for (int64_t i = 0; i < shape_.words; ++i) target[i * stride] = row_[i];
}

void RowBlock::Add(const Tile& tile) {
  for (int64_t first = 0; first < rows_; first += kQueryTile) {
    const int64_t rows = std::min<int64_t>(kQueryTile, rows_ - first);
    const int64_t tokens = *std::max_element(visible_ + first, visible_ + first + rows);
    if (tokens == 0) continue;
    PrefetchRange keys{}, values_start{}, values{}, next{};
    if (first == 0) {  // the first rows bring in what all rows read
      keys = Ahead(tile.keys, tile.key_bytes);
      values_start = {tile.values, std::min(kPrefetchDistance, tile.value_bytes)};
      values = Ahead(tile.values, tile.value_bytes);
      if (tile.next_keys != nullptr) next = {tile.next_keys, kPrefetchDistance};
    }
    attention_.scores({query_ + first * shape_.words, rows, tile.keys, shape_.words,
                       CeilDiv(tokens, kKeyBlock), scores_, keys, values_start});
    attention_.softmax({scores_, rows, visible_ + first, scale_, tile.key_scales, tile.value_scales,
                        max_ + first, sums_ + first * kSumLanes, alpha_ + first});
    const int64_t steps = shape_.elements == Elements::kBf16 ? CeilDiv(tokens, 2) : tokens;
    attention_.values({scores_, rows, steps, tile.values, shape_.value_width, alpha_ + first,
                       o_ + first * shape_.value_width, values, next});
  }
}

void RowBlock::Finish(int64_t row, float* out) const {
  const float* sums = sums_ + row * kSumLanes;
  const float factor = 1.0F / std::accumulate(sums, sums + kSumLanes, 0.0F);
  const float* o = o_ + row * shape_.value_width;
  for (int64_t i = 0; i < shape_.head_dim; ++i) out[i] = o[i] * factor;
}

}  // namespace saccade
