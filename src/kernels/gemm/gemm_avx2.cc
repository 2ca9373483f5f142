// AVX2 gemm tiles with f32 activations: f32 weights, and bf16 weights widened on the fly.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx2.h"

namespace saccade {
namespace {

// Six rows by two vectors: 12 accumulators, two vectors of weights, one broadcast of 16 registers. A block of
// 32 columns is two such halves.
constexpr int kRows = 6;

template <int rows>
struct Sums {
  __m256 v[rows][2];
};

template <int rows>
inline void Load(Sums<rows>& sums, const float* c, const GemmTile& tile) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      sums.v[r][h] = tile.accumulate ? _mm256_load_ps(c + r * tile.c_stride + 8 * h) : _mm256_setzero_ps();
    }
  }
}

template <int rows>
inline void Store(const Sums<rows>& sums, float* c, const GemmTile& tile) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) _mm256_store_ps(c + r * tile.c_stride + 8 * h, sums.v[r][h]);
  }
}

template <int rows>
inline void MultiplyAdd(Sums<rows>& sums, const float* a, __m256 b0, __m256 b1) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m256 x = _mm256_broadcast_ss(a + r);
    sums.v[r][0] = _mm256_fmadd_ps(x, b0, sums.v[r][0]);
    sums.v[r][1] = _mm256_fmadd_ps(x, b1, sums.v[r][1]);
  }
}

template <int rows>
void HalfF32(const GemmTile& tile, int column) {
  const auto* a = static_cast<const float*>(tile.a);
  const auto* b = static_cast<const float*>(tile.b) + column;
  Sums<rows> sums;
  Load<rows>(sums, tile.c + column, tile);
  for (int64_t step = 0; step < tile.steps; ++step, a += rows, b += kBlockColumns) {
    _mm_prefetch(reinterpret_cast<const char*>(b) + 1024, _MM_HINT_T0);
    MultiplyAdd<rows>(sums, a, _mm256_load_ps(b), _mm256_load_ps(b + 8));
  }
  Store<rows>(sums, tile.c + column, tile);
}

template <int rows>
void HalfBf16(const GemmTile& tile, int column) {
  const auto* a = static_cast<const float*>(tile.a);
  const auto* b = static_cast<const int32_t*>(tile.b) + column;
  Sums<rows> sums;
  Load<rows>(sums, tile.c + column, tile);
  for (int64_t step = 0; step < tile.steps; ++step, a += 2 * rows, b += kBlockColumns) {
    _mm_prefetch(reinterpret_cast<const char*>(b) + 1024, _MM_HINT_T0);
    const __m256i b0 = _mm256_load_si256(reinterpret_cast<const __m256i*>(b));
    const __m256i b1 = _mm256_load_si256(reinterpret_cast<const __m256i*>(b + 8));
    MultiplyAdd<rows>(sums, a, LowBf16(b0), LowBf16(b1));
    MultiplyAdd<rows>(sums, a + rows, HighBf16(b0), HighBf16(b1));
  }
  Store<rows>(sums, tile.c + column, tile);
}

template <int rows>
void Dispatch(const GemmTile& tile, bool bf16) {
  if constexpr (rows > 0) {
    if (tile.rows != rows) return Dispatch<rows - 1>(tile, bf16);
    for (int column = 0; column < kBlockColumns; column += 16) {
      bf16 ? HalfBf16<rows>(tile, column) : HalfF32<rows>(tile, column);
    }
  }
}

}  // namespace

void gemm_f32_f32_6x16_avx2(const GemmTile& tile) { Dispatch<kRows>(tile, false); }
void gemm_f32_bf16_6x16_avx2(const GemmTile& tile) { Dispatch<kRows>(tile, true); }

}  // namespace saccade
