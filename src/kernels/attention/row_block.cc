#include "kernels/attention/row_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/layout.h"

namespace saccade {
namespace {

// Below every score; finite, so that differences of two of them are not NaN.
constexpr float kNothingSeen = -1.0e30F;

}  // namespace

size_t RowBlock::ScratchBytes(const Shape& shape) {
  const int64_t words = kAttentionRows * shape.words + RoundUp(shape.words, 16) + kQueryTile * kScoreStride +
                        kAttentionRows * shape.value_width + 4 * kAttentionRows;
  return static_cast<size_t>(RoundUp(words, 16)) * 4;
}

RowBlock::RowBlock(const KernelSet& kernels, const Shape& shape, std::byte* scratch)
    : kernels_(kernels),
      attention_(shape.bf16 ? kernels.attention_bf16 : kernels.attention_f32),
      shape_(shape),
      scale_(1.0F / std::sqrt(static_cast<float>(shape.head_dim))) {
  scores_ = reinterpret_cast<float*>(scratch);
  o_ = scores_ + kQueryTile * kScoreStride;
  max_ = o_ + kAttentionRows * shape.value_width;
  sum_ = max_ + kAttentionRows;
  alpha_ = sum_ + kAttentionRows;
  visible_ = reinterpret_cast<int32_t*>(alpha_ + kAttentionRows);
  query_ = reinterpret_cast<uint32_t*>(visible_ + kAttentionRows);
  row_ = query_ + kAttentionRows * shape.words;
}

void RowBlock::Start(int64_t rows) {
  rows_ = rows;
  std::fill_n(max_, rows, kNothingSeen);
  std::fill_n(sum_, rows, 0.0F);
  std::fill_n(o_, rows * shape_.value_width, 0.0F);
}

void RowBlock::SetQuery(int64_t row, const float* q) {
  const int64_t first = row / kQueryTile * kQueryTile;
  const int64_t stride = std::min<int64_t>(kQueryTile, rows_ - first);
  uint32_t* target = query_ + first * shape_.words + row % kQueryTile;
  if (shape_.bf16) {
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
    attention_.scores(
        {query_ + first * shape_.words, rows, tile.keys, shape_.words, CeilDiv(tokens, kKeyBlock), scores_});
    attention_.softmax({scores_, rows, visible_ + first, scale_, tile.key_scales, tile.value_scales,
                        max_ + first, sum_ + first, alpha_ + first});
    const int64_t steps = shape_.bf16 ? CeilDiv(tokens, 2) : tokens;
    attention_.values({scores_, rows, steps, tile.values, shape_.value_width, alpha_ + first,
                       o_ + first * shape_.value_width});
  }
}

void RowBlock::Finish(int64_t row, float* out) const {
  const float factor = 1.0F / sum_[row];
  const float* o = o_ + row * shape_.value_width;
  for (int64_t i = 0; i < shape_.head_dim; ++i) out[i] = o[i] * factor;
}

}  // namespace saccade
