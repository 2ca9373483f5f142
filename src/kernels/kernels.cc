#include "kernels/kernels.h"

#include <array>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "kernels/gemm/gemm.h"
#include "kernels/layout.h"
#include "kernels/reference.h"
#include "kernels/registry.h"

namespace saccade {
namespace {

constexpr std::array<std::string_view, 4> kWeightNames = {"f32", "bf16", "int8", "int4"};
constexpr std::array<std::string_view, 3> kKvNames = {"f32", "bf16", "int8"};

}  // namespace

std::string_view WeightTypeName(WeightType type) { return kWeightNames[static_cast<size_t>(type)]; }

Result<WeightType> ParseWeightType(std::string_view name) {
  for (size_t i = 0; i < kWeightNames.size(); ++i) {
    if (kWeightNames[i] == name) return static_cast<WeightType>(i);
  }
  return InvalidArgument("unknown weight type \"{}\"; known: f32, bf16, int8, int4", name);
}

std::string_view KvTypeName(KvType type) { return kKvNames[static_cast<size_t>(type)]; }

Result<KvType> ParseKvType(std::string_view name) {
  for (size_t i = 0; i < kKvNames.size(); ++i) {
    if (kKvNames[i] == name) return static_cast<KvType>(i);
  }
  return InvalidArgument("unknown KV cache type \"{}\"; known: f32, bf16, int8", name);
}

size_t KvLayout::PageBytes() const {
  return static_cast<size_t>(kv_heads) * MakeKvHeadLayout(type, head_dim, page_tokens).head_bytes;
}

struct KernelContext::Scratch {
  std::vector<AlignedBuffer> shared;
  std::vector<AlignedBuffer> workers;
};

KernelContext::KernelContext(ThreadPool& pool, Isa isa) : pool_(pool), isa_(isa), scratch_(new Scratch) {
  scratch_->workers.resize(static_cast<size_t>(pool.threads()));
}

KernelContext::~KernelContext() = default;

namespace {

std::byte* Grow(AlignedBuffer& buffer, size_t bytes) {
  if (buffer.size() < bytes) {
    buffer = AlignedBuffer();
    buffer = AlignedBuffer(bytes);
    SACCADE_CHECK(buffer.ok());
  }
  return buffer.data();
}

}  // namespace

std::byte* KernelContext::SharedScratch(int slot, size_t bytes) {
  if (scratch_->shared.size() <= static_cast<size_t>(slot))
    scratch_->shared.resize(static_cast<size_t>(slot) + 1);
  return Grow(scratch_->shared[static_cast<size_t>(slot)], bytes);
}

std::byte* KernelContext::WorkerScratch(int worker, size_t bytes) {
  return Grow(scratch_->workers[static_cast<size_t>(worker)], bytes);
}

size_t KernelContext::scratch_bytes() const {
  size_t bytes = 0;
  for (const AlignedBuffer& buffer : scratch_->shared) bytes += buffer.size();
  for (const AlignedBuffer& buffer : scratch_->workers) bytes += buffer.size();
  return bytes;
}

std::vector<std::string> KernelContext::Describe() const { return {"every operation: reference loops"}; }

void Linear(KernelContext& context, const float* x, int64_t rows, int64_t x_stride,
            const PackedMatrix& weight, const float* bias, Epilogue epilogue, float* out,
            int64_t out_stride) {
  SACCADE_CHECK(weight.gate_up == (epilogue == Epilogue::kSwiGlu));
  const KernelSet& kernels = KernelsFor(context.isa());
  if (kernels.gemm[static_cast<size_t>(weight.type)].run != nullptr) {
    RunLinear(context, kernels, {x, rows, x_stride, &weight, bias, epilogue, out, out_stride});
    return;
  }
  const int64_t blocks = BlockCount(weight) / (weight.gate_up ? 2 : 1);
  context.pool().ParallelFor(blocks, [&](int64_t block, int) {
    reference::LinearBlock(x, rows, x_stride, weight, block, bias, epilogue, out, out_stride);
  });
}

void RmsNorm(KernelContext& context, const float* x, int64_t rows, int64_t width, const float* weight,
             float eps, float* out) {
  context.pool().ParallelFor(rows, [&](int64_t row, int) {
    reference::RmsNormRow(x + row * width, width, weight, eps, out + row * width);
  });
}

void LayerNorm(KernelContext& context, const float* x, int64_t rows, int64_t width, const float* weight,
               const float* bias, float eps, float* out) {
  context.pool().ParallelFor(rows, [&](int64_t row, int) {
    reference::LayerNormRow(x + row * width, width, weight, bias, eps, out + row * width);
  });
}

void AddInPlace(KernelContext&, const float* x, int64_t count, float* out) {
  for (int64_t i = 0; i < count; ++i) out[i] += x[i];
}

void NormRope(KernelContext& context, float* x, int64_t rows, int64_t row_stride, int heads, int head_dim,
              const float* norm_weight, float eps, const float* cos, const float* sin) {
  context.pool().ParallelFor(rows, [&](int64_t row, int) {
    const int64_t table = row * (head_dim / 2);
    reference::NormRopeRow(x + row * row_stride, heads, head_dim, norm_weight, eps, cos + table, sin + table);
  });
}

void VisionAttention(KernelContext& context, const float* q, const float* k, const float* v, int64_t stride,
                     std::span<const int64_t> starts, int heads, int head_dim, bool, float* out) {
  for (size_t picture = 0; picture + 1 < starts.size(); ++picture) {
    const int64_t begin = starts[picture], end = starts[picture + 1];
    context.pool().ParallelFor((end - begin) * heads, [&](int64_t task, int) {
      const int64_t row = begin + task / heads, head = task % heads, offset = head * head_dim;
      const reference::VisionRow view{q + offset, k + offset, v + offset, stride, head_dim, begin, end};
      reference::VisionAttentionRow(view, row, out + row * heads * head_dim + offset);
    });
  }
}

void AppendKv(KernelContext& context, const KvLayout& layout, std::span<const KvSegment> segments,
              const float* k, int64_t k_stride, const float* v, int64_t v_stride) {
  for (const KvSegment& segment : segments) {
    context.pool().ParallelFor(segment.rows, [&](int64_t r, int) {
      const int64_t token = segment.past_tokens + r, row = segment.first_row + r;
      std::byte* page = segment.pages[static_cast<size_t>(token / layout.page_tokens)];
      reference::AppendKvToken(layout, page, token % layout.page_tokens, k + row * k_stride,
                               v + row * v_stride);
    });
  }
}

void PagedAttention(KernelContext& context, const KvLayout& layout, std::span<const KvSegment> segments,
                    const float* q, int64_t q_stride, int q_heads, float* out) {
  SACCADE_CHECK(q_heads % layout.kv_heads == 0);
  const int group = q_heads / layout.kv_heads;
  for (const KvSegment& segment : segments) {
    context.pool().ParallelFor(segment.rows * q_heads, [&](int64_t task, int) {
      const int64_t r = task / q_heads, row = segment.first_row + r;
      const int head = static_cast<int>(task % q_heads);
      reference::PagedAttentionRow(layout, segment.pages, segment.past_tokens + r + 1, head / group,
                                   q + row * q_stride + head * layout.head_dim,
                                   out + (row * q_heads + head) * layout.head_dim);
    });
  }
}

}  // namespace saccade
