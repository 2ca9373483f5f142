// Facade of the kernels layer: the operations of a transformer on CPU threads. No intrinsics are visible
// here.
//
// All activations are row-major f32 with the stride given; weights are packed once (PackMatrix) into the
// layout that the micro-kernels read. Every operation is deterministic: its result does not depend on the
// number of threads. The plain loops in kernels/reference.cc are the oracle of every fast path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/cpu.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace saccade {

// How a weight matrix is stored and multiplied; accumulation is always f32 (int32 inside a group).
//   kF32:  f32 weights and activations; for exactness checks.
//   kBf16: bf16 weights; activations are rounded to bf16 where the ISA has a bf16 dot product, else stay f32.
//   kInt8: groups of kQuantGroup weights along k with one f32 scale each; activations are quantised per row
//   and group. kInt4: like kInt8 with 4-bit weights.
enum class WeightType : uint8_t { kF32, kBf16, kInt8, kInt4 };
inline constexpr std::array<WeightType, 4> kAllWeightTypes = {WeightType::kF32, WeightType::kBf16,
                                                              WeightType::kInt8, WeightType::kInt4};
inline constexpr int64_t kQuantGroup = 64;
std::string_view WeightTypeName(WeightType type);  // "f32", "bf16", "int8", "int4"
Result<WeightType> ParseWeightType(std::string_view name);

// Resources that an operation runs on. Thread-compatible: one driver thread at a time.
class KernelContext {
 public:
  KernelContext(ThreadPool& pool, Isa isa);
  ~KernelContext();
  KernelContext(const KernelContext&) = delete;
  KernelContext& operator=(const KernelContext&) = delete;

  ThreadPool& pool() const { return pool_; }
  Isa isa() const { return isa_; }
  // Scratch that grows to the largest request and stays. `slot` keeps concurrent uses of one operation apart
  // (an operation uses slots of the shared part from the driver only; per-worker scratch has its own slots).
  std::byte* SharedScratch(int slot, size_t bytes);
  std::byte* WorkerScratch(int worker, size_t bytes);
  size_t scratch_bytes() const;
  // The micro-kernels in use, one line each, for `saccade doctor` and `saccade info`.
  std::vector<std::string> Describe() const;

 private:
  struct Scratch;
  ThreadPool& pool_;
  const Isa isa_;
  std::unique_ptr<Scratch> scratch_;
};

// ---- Matrices
// -----------------------------------------------------------------------------------------------

// A packed [n, k] weight (n outputs, k inputs). A view: `data` is owned by the weight store or mapped from
// the cache file, 64-byte aligned. The layout is the same for every ISA, so that one cache file serves them
// all.
struct PackedMatrix {
  WeightType type = WeightType::kF32;
  int64_t n = 0;
  int64_t k = 0;
  // Two matrices of n / 2 rows interleaved block by block for Epilogue::kSwiGlu (see PackGateUp).
  bool gate_up = false;
  const std::byte* data = nullptr;
  size_t bytes = 0;
};

size_t PackedBytes(WeightType type, int64_t n, int64_t k);

// Packs `source` ([n, k] f32, f16 or bf16) into `destination` (PackedBytes, 64-byte aligned).
PackedMatrix PackMatrix(KernelContext& context, WeightType type, const TensorView& source,
                        std::byte* destination);
// The same for rows taken from several sources with equal k, one below the other (q, k and v projections).
PackedMatrix PackStacked(KernelContext& context, WeightType type, std::span<const TensorView> sources,
                         std::byte* destination);
// Packs gate [n, k] and up [n, k] for Epilogue::kSwiGlu; the result has n rows of each: PackedMatrix::n = 2n.
// `destination` holds 2 * PackedBytes(type, n, k).
PackedMatrix PackGateUp(KernelContext& context, WeightType type, const TensorView& gate, const TensorView& up,
                        std::byte* destination);

// Row `row` of the matrix as f32 [k] (dequantised): the embedding look-up of a tied head.
void UnpackRow(const PackedMatrix& matrix, int64_t row, float* out);

enum class Epilogue : uint8_t {
  kNone,      // out = x W^T + bias
  kGeluTanh,  // out = gelu_tanh(x W^T + bias)
  kGeluErf,   // out = gelu(x W^T + bias), exact erf
  kAdd,       // out += x W^T + bias (residual)
  kSwiGlu,    // out[:, j] = silu(gate_j) * up_j; needs PackedMatrix::gate_up, out has n / 2 columns
};

// x: [rows, k] with x_stride >= k; out: [rows, n or n / 2] with out_stride; bias: [n] or null. x and out do
// not overlap. rows may be 1 (decode) or thousands (prefill, vision).
void Linear(KernelContext& context, const float* x, int64_t rows, int64_t x_stride,
            const PackedMatrix& weight, const float* bias, Epilogue epilogue, float* out, int64_t out_stride);

// ---- Pointwise
// ----------------------------------------------------------------------------------------------

// out[r, :] = x[r, :] / sqrt(mean(x^2) + eps) * weight. x == out is allowed. Mirrors Qwen3VLTextRMSNorm.
void RmsNorm(KernelContext& context, const float* x, int64_t rows, int64_t width, const float* weight,
             float eps, float* out);
// out[r, :] = (x - mean) / sqrt(variance + eps) * weight + bias. x == out is allowed.
void LayerNorm(KernelContext& context, const float* x, int64_t rows, int64_t width, const float* weight,
               const float* bias, float eps, float* out);
// out[i] += x[i].
void AddInPlace(KernelContext& context, const float* x, int64_t count, float* out);

// ---- Rotary embedding
// ---------------------------------------------------------------------------------------

// Rotates `heads` vectors of head_dim in every row, in place: y = x * cos + rotate_half(x) * sin, with
// rotate_half(x) = concat(-x[half:], x[:half]). cos, sin: [rows, head_dim / 2] (both halves share a table).
// When norm_weight is not null every vector is RMS-normalised with it ([head_dim], eps) before the rotation.
// x: rows with stride row_stride; the heads of one row lie next to each other.
void NormRope(KernelContext& context, float* x, int64_t rows, int64_t row_stride, int heads, int head_dim,
              const float* norm_weight, float eps, const float* cos, const float* sin);

// ---- Attention
// ----------------------------------------------------------------------------------------------

// Full bidirectional attention inside every picture of a packed group. q, k, v: [patches, heads, head_dim]
// with row stride `stride` (they usually lie in one qkv buffer); out: [patches, heads * head_dim]. `starts`
// has one entry more than there are pictures: picture i owns patches [starts[i], starts[i + 1]). Scale is 1 /
// sqrt(head_dim). Memory is linear in patches (tiles with online softmax). When `bf16` is set products may
// round q, k, v and probabilities to bf16.
void VisionAttention(KernelContext& context, const float* q, const float* k, const float* v, int64_t stride,
                     std::span<const int64_t> starts, int heads, int head_dim, bool bf16, float* out);

// A part of the work of VisionAttention: rows [first_row, first_row + rows), counted from the picture's first
// patch, of heads [first_head, first_head + heads) in the picture of patches [begin, end). However a picture
// is cut, the result is the same bit for bit; every call packs the keys and values of its heads anew.
struct VisionSlice {
  int64_t begin = 0, end = 0;
  int first_head = 0, heads = 0;
  int64_t first_row = 0, rows = 0;
};
void VisionAttentionSlice(KernelContext& context, const float* q, const float* k, const float* v,
                          int64_t stride, const VisionSlice& slice, int heads, int head_dim, bool bf16,
                          float* out);

// How keys and values are stored in the pages of the KV cache.
enum class KvType : uint8_t { kF32, kBf16, kInt8 };
std::string_view KvTypeName(KvType type);
Result<KvType> ParseKvType(std::string_view name);

struct KvLayout {
  KvType type = KvType::kBf16;
  int kv_heads = 0;
  int head_dim = 0;
  int page_tokens = 0;  // a power of two, 16..256
  // Bytes of keys and values of one page of one layer, scales of kInt8 included; a multiple of 64.
  size_t PageBytes() const;
};

// A run of consecutive rows of one sequence in a step: rows [first_row, first_row + rows) of the batch are
// the tokens [past_tokens, past_tokens + rows) of the sequence. `pages` are this layer's pages of the
// sequence, in order, with room for past_tokens + rows tokens.
struct KvSegment {
  int64_t first_row = 0;
  int64_t rows = 0;
  int64_t past_tokens = 0;
  std::span<std::byte* const> pages;
};

// Writes k and v ([rows, kv_heads, head_dim], row strides in floats) of every segment into its pages.
void AppendKv(KernelContext& context, const KvLayout& layout, std::span<const KvSegment> segments,
              const float* k, int64_t k_stride, const float* v, int64_t v_stride);

// Causal attention of every segment's rows over its own pages (already appended): row r of a segment sees
// tokens [0, past_tokens + r]. q: [rows, q_heads, head_dim] with q_stride; out: [rows, q_heads * head_dim].
// q_heads is a multiple of kv_heads; head h reads KV head h / (q_heads / kv_heads), which is read once for
// all of its group. Serves decode (segments of one row) and prefill slices alike.
void PagedAttention(KernelContext& context, const KvLayout& layout, std::span<const KvSegment> segments,
                    const float* q, int64_t q_stride, int q_heads, float* out);

}  // namespace saccade
