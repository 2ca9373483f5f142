#include "kernels/kernels.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/aligned_buffer.h"
#include "base/check.h"
#include "kernels/attention/attention.h"
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

std::vector<std::string> KernelContext::Describe() const {
  std::vector<std::string> lines;
  for (const KernelInfo& kernel : ActiveKernels(isa_)) {
    lines.push_back(fmt::format("{}: {} ({})", kernel.slot, kernel.name, IsaName(kernel.isa)));
  }
  if (lines.empty()) lines.emplace_back("every operation: reference loops (scalar)");
  return lines;
}

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

namespace {

// Rows per task of the row-wise operations, so that a task is worth handing out.
constexpr int64_t kTaskFloats = 16384;

// Calls body(first, last) for ranges of rows of `width` floats.
template <class Body>
void ForRowRanges(KernelContext& context, int64_t rows, int64_t width, Body&& body) {
  const int64_t step = std::max<int64_t>(1, kTaskFloats / std::max<int64_t>(1, width));
  context.pool().ParallelFor(CeilDiv(rows, step), [&](int64_t task, int) {
    const int64_t first = task * step, last = std::min(rows, first + step);
    for (int64_t row = first; row < last; ++row) body(row);
  });
}

}  // namespace

void RmsNorm(KernelContext& context, const float* x, int64_t rows, int64_t width, const float* weight,
             float eps, float* out) {
  const KernelSet& kernels = KernelsFor(context.isa());
  ForRowRanges(context, rows, width, [&](int64_t row) {
    const NormRow args{x + row * width, width, weight, nullptr, eps, out + row * width};
    if (kernels.rms_norm != nullptr) return kernels.rms_norm(args);
    reference::RmsNormRow(args.x, width, weight, eps, args.out);
  });
}

void LayerNorm(KernelContext& context, const float* x, int64_t rows, int64_t width, const float* weight,
               const float* bias, float eps, float* out) {
  const KernelSet& kernels = KernelsFor(context.isa());
  ForRowRanges(context, rows, width, [&](int64_t row) {
    const NormRow args{x + row * width, width, weight, bias, eps, out + row * width};
    if (kernels.layer_norm != nullptr) return kernels.layer_norm(args);
    reference::LayerNormRow(args.x, width, weight, bias, eps, args.out);
  });
}

void AddInPlace(KernelContext& context, const float* x, int64_t count, float* out) {
  const KernelSet& kernels = KernelsFor(context.isa());
  ForRowRanges(context, CeilDiv(count, kTaskFloats), kTaskFloats, [&](int64_t part) {
    const int64_t first = part * kTaskFloats;
    const Addition args{x + first, std::min(kTaskFloats, count - first), out + first};
    if (kernels.add != nullptr) return kernels.add(args);
    for (int64_t i = 0; i < args.count; ++i) args.out[i] += args.x[i];
  });
}

void NormRope(KernelContext& context, float* x, int64_t rows, int64_t row_stride, int heads, int head_dim,
              const float* norm_weight, float eps, const float* cos, const float* sin) {
  const KernelSet& kernels = KernelsFor(context.isa());
  ForRowRanges(context, rows, int64_t{heads} * head_dim, [&](int64_t row) {
    const int64_t table = row * (head_dim / 2);
    const RopeRow args{x + row * row_stride, heads, head_dim, norm_weight, eps, cos + table, sin + table};
    if (kernels.norm_rope != nullptr) return kernels.norm_rope(args);
    reference::NormRopeRow(args.x, heads, head_dim, norm_weight, eps, args.cos, args.sin);
  });
}

void VisionAttentionSlice(KernelContext& context, const float* q, const float* k, const float* v,
                          int64_t stride, const VisionSlice& slice, int heads, int head_dim, bool bf16,
                          float* out) {
  SACCADE_CHECK(slice.first_head + slice.heads <= heads);
  SACCADE_CHECK(slice.first_row + slice.rows <= slice.end - slice.begin);
  const KernelSet& kernels = KernelsFor(context.isa());
  if (kernels.attention_f32.scores != nullptr) {
    RunVisionAttention(context, kernels, {q, k, v, stride, slice, heads, head_dim, out}, bf16);
    return;
  }
  context.pool().ParallelFor(slice.rows * slice.heads, [&](int64_t task, int) {
    const int64_t row = slice.begin + slice.first_row + task / slice.heads;
    const int64_t offset = (slice.first_head + task % slice.heads) * head_dim;
    const reference::VisionRow view{q + offset, k + offset,  v + offset, stride,
                                    head_dim,   slice.begin, slice.end};
    reference::VisionAttentionRow(view, row, out + row * heads * head_dim + offset);
  });
}

void VisionAttention(KernelContext& context, const float* q, const float* k, const float* v, int64_t stride,
                     std::span<const int64_t> starts, int heads, int head_dim, bool bf16, float* out) {
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    const VisionSlice whole{starts[i], starts[i + 1], 0, heads, 0, starts[i + 1] - starts[i]};
    VisionAttentionSlice(context, q, k, v, stride, whole, heads, head_dim, bf16, out);
  }
}

void PagedAttention(KernelContext& context, const KvLayout& layout, std::span<const KvSegment> segments,
                    const float* q, int64_t q_stride, int q_heads, float* out) {
  SACCADE_CHECK(q_heads % layout.kv_heads == 0);
  const KernelSet& kernels = KernelsFor(context.isa());
  if (kernels.attention_f32.scores != nullptr) {
    RunPagedAttention(context, kernels, {layout, segments, q, q_stride, q_heads, out});
    return;
  }
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
