// AVX512-BF16 gemm tile: bf16 pairs of activations and weights, f32 sums.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

// Twelve rows by two vectors; see gemm_avx512.cc. VDPBF16PS has a latency of 6 on Zen 4, one per cycle.
constexpr int kRows = 12;

inline __m512bh AsBf16(__m512i v) { return reinterpret_cast<__m512bh&>(v); }

template <int rows>
void Tile(const GemmTile& tile) {
  const auto* a = static_cast<const int32_t*>(tile.a);
  const auto* b = static_cast<const char*>(tile.b);
  __m512 sums[rows][2];
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      sums[r][h] =
          tile.accumulate ? _mm512_load_ps(tile.c + r * tile.c_stride + 16 * h) : _mm512_setzero_ps();
    }
  }
  for (int64_t step = 0; step < tile.steps; ++step, a += rows, b += 128) {
    _mm_prefetch(b + 1024, _MM_HINT_T0);
    _mm_prefetch(b + 1088, _MM_HINT_T0);
    const __m512bh b0 = AsBf16(_mm512_load_si512(b)), b1 = AsBf16(_mm512_load_si512(b + 64));
    SACCADE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const __m512bh x = AsBf16(_mm512_set1_epi32(a[r]));
      sums[r][0] = _mm512_dpbf16_ps(sums[r][0], x, b0);
      sums[r][1] = _mm512_dpbf16_ps(sums[r][1], x, b1);
    }
  }
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) _mm512_store_ps(tile.c + r * tile.c_stride + 16 * h, sums[r][h]);
  }
}

template <int rows>
void Dispatch(const GemmTile& tile) {
  if constexpr (rows > 0) return tile.rows == rows ? Tile<rows>(tile) : Dispatch<rows - 1>(tile);
}

}  // namespace

void gemm_bf16_bf16_12x32_avx512bf16(const GemmTile& tile) { Dispatch<kRows>(tile); }

}  // namespace saccade
