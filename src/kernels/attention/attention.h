// VisionAttention() and PagedAttention() over micro-kernels.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "kernels/registry.h"

namespace saccade {

struct VisionCall {
  const float* q;
  const float* k;
  const float* v;
  int64_t stride;
  VisionSlice slice;
  int64_t heads;  // of the whole picture
  int64_t head_dim;
  float* out;
};
void RunVisionAttention(KernelContext& context, const KernelSet& kernels, const VisionCall& call, bool bf16);

struct PagedCall {
  const KvLayout& layout;
  std::span<const KvSegment> segments;
  const float* q;
  int64_t q_stride;
  int64_t q_heads;
  float* out;
};
void RunPagedAttention(KernelContext& context, const KernelSet& kernels, const PagedCall& call);

}  // namespace saccade
