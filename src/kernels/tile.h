// Constants and plain argument structs shared with the ISA files. No functions: an inline function here could
// be emitted as a weak symbol with AVX-512 code and be linked into code for older processors.
#pragma once

#include <cstdint>

// Unrolls the following loop over accumulators completely: an array indexed by a loop variable that survives
// until register allocation lives on the stack.
#if defined(__clang__)
#define SACCADE_UNROLL _Pragma("unroll")
#else
#define SACCADE_UNROLL _Pragma("GCC unroll 16")
#endif

// Forces inlining before the loops over accumulators are unrolled; later is too late for GCC to keep them in
// registers.
#define SACCADE_INLINE [[gnu::always_inline]] inline

namespace saccade {

// Columns of the product in one packed block: two 512-bit or four 256-bit vectors of f32.
inline constexpr int kBlockColumns = 32;
// Weights along k that share one scale, and the 4-byte steps they take.
inline constexpr int kGroupSize = 64;
inline constexpr int kGroupSteps = kGroupSize / 4;
inline constexpr int kScaleBytes = kBlockColumns * 2;
inline constexpr int kInt8GroupBytes = kScaleBytes + kGroupSize * kBlockColumns;
inline constexpr int kInt4GroupBytes = kScaleBytes + kGroupSize * kBlockColumns / 2;
// Tokens in one key block of a KV page.
inline constexpr int kKeyBlock = 16;

// Values of the sixteen 4-bit codes before scaling: Lloyd's algorithm over Gaussian groups of 64, each with
// its best scale. A relative error of 8.03 %; denser around zero, as weights are.
inline constexpr int8_t kInt4Levels[16] = {-127, -98, -77, -60, -46, -33, -21, -9,
                                           2,    13,  24,  36,  49,  64,  81,  106};

// How a gemm kernel wants its activations, always as a tile of `rows` rows with the row index running
// fastest.
//   kF32:   [k][rows] f32
//   kBf16:  [ceil(k / 2)][rows][2] bf16
//   kInt8:  [groups] of { int32 start[rows] = -128 * sum of the group; f32 scale[rows]; [16][rows][4] int8 }
enum class ActivationFormat : uint8_t { kF32, kBf16, kInt8 };
// 32-bit words of one row in one int8 group: start, scale and the codes.
inline constexpr int kInt8GroupWords = 2 + kGroupSteps;

// One tile of a product: c[rows][32] (+)= a[rows, k] * block[k, 32].
struct GemmTile {
  const void* a;     // in the kernel's ActivationFormat, 4-byte aligned
  const void* b;     // packed block, from the first step of this call, 64-byte aligned
  int64_t steps;     // along k: words for f32 and bf16 (bf16: pairs), groups for int8 and int4
  int64_t rows;      // 1 .. the kernel's tile rows
  float* c;          // [rows][c_stride], 64-byte aligned
  int64_t c_stride;  // floats, a multiple of 16
  bool accumulate;   // add to c instead of overwriting it
};
using GemmKernel = void (*)(const GemmTile& tile);

// What happens to a finished strip of the product on its way to the output.
enum class StripOp : uint8_t { kStore, kGeluTanh, kGeluErf, kAdd, kSwiGlu };
struct StripTile {
  const float* c;  // [rows][c_stride]; kSwiGlu: gate in columns 0..31, up in columns 32..63
  int64_t c_stride;
  int64_t rows;
  int64_t columns;       // 1..32 that exist in the output
  const float* bias;     // [columns] or null
  const float* up_bias;  // kSwiGlu only
  StripOp op;
  float* out;
  int64_t out_stride;
};
using StripKernel = void (*)(const StripTile& tile);

// Converts one row of activations to 32-bit words in k order, zero-padded to `words`.
struct RowConversion {
  const float* x;
  int64_t k;
  uint32_t* out;    // bf16: words pairs; int8: words quads
  int64_t words;    // int8: a multiple of kGroupSteps
  float* scales;    // int8: one per group
  int32_t* starts;  // int8: one per group
};
using RowKernel = void (*)(const RowConversion& row);

// Decodes a packed int4 block into the int8 layout (scales copied).
struct BlockDecoding {
  const void* int4;
  void* int8;
  int64_t groups;
};
using DecodeKernel = void (*)(const BlockDecoding& block);

// One row of RMSNorm or LayerNorm; bias is for LayerNorm only. x and out may be the same.
struct NormRow {
  const float* x;
  int64_t width;
  const float* weight;
  const float* bias;
  float eps;
  float* out;
};

// One row of NormRope().
struct RopeRow {
  float* x;
  int64_t heads;
  int64_t head_dim;
  const float* norm_weight;  // or null
  float eps;
  const float* cos;
  const float* sin;
};

// out[i] += x[i].
struct Addition {
  const float* x;
  int64_t count;
  float* out;
};

// ---- Attention: a tile of query rows against a tile of keys and values ----
// Elements along the summed dimension are 32-bit words: an f32, or a pair of bf16.

// Floats between two rows of scores, and the most keys of one tile. A constant, so that the kernels address
// all rows of a tile from one pointer; 16 more than a power of two, so that rows do not share cache sets.
inline constexpr int kScoreStride = 256 + 16;
inline constexpr int kMaxTileKeys = 256;
// Query rows lie in tiles of this many, like activations of a gemm: [words][rows].
inline constexpr int kQueryTile = 12;

// Elements along the summed dimension of keys and values: a 32-bit word (f32 or a pair of bf16), or one int8
// of a KV page that meets f32 queries and probabilities.

// Memory that will be read soon; may be empty.
struct PrefetchRange {
  const void* start;
  int64_t bytes;
};

// scores[rows][kScoreStride] = q . keys for `blocks` blocks of kKeyBlock keys.
struct ScoreTile {
  const uint32_t* q;  // tiles of kQueryTile rows, the last one with what is left
  int64_t rows;
  const void* keys;  // [blocks][words][kKeyBlock] elements
  int64_t words;
  int64_t blocks;
  float* scores;
  PrefetchRange prefetch;
  PrefetchRange prefetch_next;
};

// Online softmax over one tile of scores, in place: words of probabilities replace the scores. Maxima are
// kept in units of log2(e), as exponents of 2.
struct SoftmaxTile {
  float* scores;
  int64_t rows;               // 1 .. kQueryTile
  const int32_t* visible;     // [rows] keys of the tile that the row may see, 0 .. kMaxTileKeys
  float scale;                // of the scores, times log2(e); positive
  const float* key_scales;    // per key, or null
  const float* value_scales;  // per key, multiplied into the probabilities but not into their sum; or null
  float* max;                 // [rows] running maximum, starts at a finite lowest value
  float* sums;                // [rows][kSumLanes] running sums, start at 0; their total counts
  float* alpha;               // [rows] out: factor for what was summed before this tile
};
inline constexpr int kSumLanes = 16;

// o[rows][width] = alpha[rows] * o + probabilities . values.
struct ValueTile {
  const void* probabilities;  // [rows][kScoreStride] words
  int64_t rows;
  int64_t steps;       // elements along the keys
  const void* values;  // [steps][width] elements
  int64_t width;       // a multiple of kKeyBlock
  const float* alpha;
  float* o;  // [rows][width]
  PrefetchRange prefetch;
  PrefetchRange prefetch_next;
};

// Widens pairs of rows of a KV page: bf16 [pairs][width][2] or int8 [2 * pairs][width] to f32 [2 *
// pairs][width] or to bf16 [pairs][width][2]. Scales are left out.
struct PageUnpacking {
  const void* source;
  int64_t pairs;
  int64_t width;  // a multiple of 16
  void* target;
};

// One scale tried on a group of kGroupSize weights, every weight taking its nearest level. Sums in lane i are
// over the weights i, i + 16, i + 32, i + 48, in this order, with fused multiply-adds: the same bits on every
// ISA.
inline constexpr int kTrialLanes = 16;
struct ScaleTrial {
  const float* w;
  float scale;      // not 0
  float* errors;    // [kTrialLanes] sums of (w - level * scale)^2
  float* products;  // [kTrialLanes] sums of w * level
  float* squares;   // [kTrialLanes] sums of level^2
};

// A loop of nothing but one instruction; `operations` receives how many were done.
struct PeakLoop {
  int64_t iterations;
  int64_t* operations;
};

// Reads memory once; prefetch_bytes ahead when positive. `sink` keeps the loads alive.
struct ReadStretch {
  const void* data;
  int64_t bytes;
  int64_t prefetch_bytes;
  uint64_t* sink;
};

}  // namespace saccade
