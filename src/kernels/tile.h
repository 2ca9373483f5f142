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

// Values of the sixteen 4-bit codes before scaling. Denser around zero, as weights are.
inline constexpr int8_t kInt4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

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

}  // namespace saccade
