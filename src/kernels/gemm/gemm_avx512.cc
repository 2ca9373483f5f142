// AVX-512 gemm tiles with f32 activations: f32 weights, and bf16 weights widened on the fly.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

// Twelve rows by two vectors: 24 accumulators hide the latency of the multiply-add and leave registers for
// the two vectors of the block and one broadcast.
constexpr int kRows = 12;

template <int rows>
struct Sums {
  __m512 v[rows][2];
};

template <int rows>
inline Sums<rows> LoadSums(const GemmTile& tile) {
  Sums<rows> sums;
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      sums.v[r][h] =
          tile.accumulate ? _mm512_load_ps(tile.c + r * tile.c_stride + 16 * h) : _mm512_setzero_ps();
    }
  }
  return sums;
}

template <int rows>
inline void StoreSums(const GemmTile& tile, const Sums<rows>& sums) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) _mm512_store_ps(tile.c + r * tile.c_stride + 16 * h, sums.v[r][h]);
  }
}

template <int rows>
inline void MultiplyAdd(Sums<rows>& sums, const float* a, __m512 b0, __m512 b1) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m512 x = _mm512_set1_ps(a[r]);
    sums.v[r][0] = _mm512_fmadd_ps(x, b0, sums.v[r][0]);
    sums.v[r][1] = _mm512_fmadd_ps(x, b1, sums.v[r][1]);
  }
}

template <int rows>
void TileF32(const GemmTile& tile) {
  const auto* a = static_cast<const float*>(tile.a);
  const auto* b = static_cast<const float*>(tile.b);
  Sums<rows> sums = LoadSums<rows>(tile);
  for (int64_t step = 0; step < tile.steps; ++step, a += rows, b += kBlockColumns) {
    _mm_prefetch(reinterpret_cast<const char*>(b) + 1024, _MM_HINT_T0);
    _mm_prefetch(reinterpret_cast<const char*>(b) + 1088, _MM_HINT_T0);
    MultiplyAdd<rows>(sums, a, _mm512_load_ps(b), _mm512_load_ps(b + 16));
  }
  StoreSums<rows>(tile, sums);
}

// One step is a pair of k: two rows of activations.
template <int rows>
void TileBf16(const GemmTile& tile) {
  const auto* a = static_cast<const float*>(tile.a);
  const auto* b = static_cast<const char*>(tile.b);
  Sums<rows> sums = LoadSums<rows>(tile);
  for (int64_t step = 0; step < tile.steps; ++step, a += 2 * rows, b += 128) {
    _mm_prefetch(b + 1024, _MM_HINT_T0);
    _mm_prefetch(b + 1088, _MM_HINT_T0);
    const __m512i b0 = _mm512_load_si512(b), b1 = _mm512_load_si512(b + 64);
    MultiplyAdd<rows>(sums, a, LowBf16(b0), LowBf16(b1));
    MultiplyAdd<rows>(sums, a + rows, HighBf16(b0), HighBf16(b1));
  }
  StoreSums<rows>(tile, sums);
}

template <int rows>
void Dispatch(const GemmTile& tile, bool bf16) {
  if constexpr (rows > 0) {
    if (tile.rows == rows) return bf16 ? TileBf16<rows>(tile) : TileF32<rows>(tile);
    return Dispatch<rows - 1>(tile, bf16);
  }
}

}  // namespace

void gemm_f32_f32_12x32_avx512(const GemmTile& tile) { Dispatch<kRows>(tile, false); }
void gemm_f32_bf16_12x32_avx512(const GemmTile& tile) { Dispatch<kRows>(tile, true); }

}  // namespace saccade
