// The operations as naive loops, cut into the units that kernels.cc hands to threads. Oracle of every fast
// path and the whole of Isa::kScalar. Sums are taken in double where that keeps the oracle better than what
// it judges.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace saccade::reference {

// Columns of packed block `block` (of block pair `block` for gate_up) of the product of Linear().
void LinearBlock(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& weight, int64_t block,
                 const float* bias, Epilogue epilogue, float* out, int64_t out_stride);

void RmsNormRow(const float* x, int64_t width, const float* weight, float eps, float* out);
void LayerNormRow(const float* x, int64_t width, const float* weight, const float* bias, float eps,
                  float* out);

// One row of NormRope().
void NormRopeRow(float* x, int heads, int head_dim, const float* norm_weight, float eps, const float* cos,
                 const float* sin);

// Row `row` of one head over the keys and values of rows [begin, end).
struct VisionRow {
  const float* q;
  const float* k;
  const float* v;
  int64_t stride;
  int head_dim;
  int64_t begin;
  int64_t end;
};
void VisionAttentionRow(const VisionRow& head, int64_t row, float* out);

// Reads one token's key and value of one KV head back as floats [head_dim].
void ReadKvToken(const KvLayout& layout, const std::byte* page, int64_t slot, int kv_head, float* k,
                 float* v);

// One query head over the first `tokens` tokens of the pages.
void PagedAttentionRow(const KvLayout& layout, std::span<std::byte* const> pages, int64_t tokens, int kv_head,
                       const float* q, float* out);

float GeluTanh(float x);
float GeluErf(float x);
float Silu(float x);

}  // namespace saccade::reference
