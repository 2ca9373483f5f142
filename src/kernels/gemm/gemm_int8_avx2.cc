// AVX2 gemm tiles for int8 activations with int8 or int4 weights. Exact: the same integers as VNNI.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx2.h"

namespace saccade {
namespace {

// Four rows by two vectors of int32 sums; the f32 sums stay in the strip, which is in L1.
constexpr int kRows = 4;

// |weight| * sign(weight) * x: VPMADDUBSW multiplies unsigned by signed bytes and saturates at 16 bits. With
// |weight| <= 128 and |x| <= 127 a pair is at most 32512, so nothing saturates; an unsigned weight of up to
// 255 would.
struct Weights {
  __m256i signed_value;
  __m256i magnitude;
};

inline Weights MakeWeights(__m256i signed_value) { return {signed_value, _mm256_abs_epi8(signed_value)}; }

inline __m256i Dot(__m256i sum, const Weights& w, __m256i x) {
  const __m256i pairs = _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(x, w.signed_value));
  return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

inline __m256i LoadInt8(const char* p) {
  return _mm256_xor_si256(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)), _mm256_set1_epi8(-128));
}

// Eight columns of an int4 step: low nibbles for columns 0..15, high ones for 16..31.
inline __m256i LoadInt4(const char* p, bool high, __m256i table) {
  __m256i codes = _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  if (high) codes = _mm256_srli_epi16(codes, 4);
  return _mm256_shuffle_epi8(table, _mm256_and_si256(codes, _mm256_set1_epi8(15)));
}

// Scales of eight columns starting at `column`; see ScaleIndex().
inline __m256 LoadScales(const char* scales, int column) {
  const char* p = scales + 4 * (column % 16);
  const __m256i pairs = _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
  return column < 16 ? LowBf16(pairs) : HighBf16(pairs);
}

// Columns [column, column + 16) of one group.
template <int rows, bool int4>
void Group(const int32_t* a, const char* b, int column, float* c, int64_t c_stride, bool accumulate) {
  const __m256i table =
      _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Levels)));
  __m256i sums[rows][2];
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) sums[r][0] = sums[r][1] = _mm256_setzero_si256();
  const int32_t* codes = a + 2 * rows;
  for (int step = 0; step < kGroupSteps; ++step, codes += rows) {
    Weights w[2];
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      const char* p = b + kScaleBytes + (int4 ? step * 64 + 32 * h : step * 128 + column * 4 + 32 * h);
      w[h] = MakeWeights(int4 ? LoadInt4(p, column >= 16, table) : LoadInt8(p));
    }
    SACCADE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const __m256i x = _mm256_set1_epi32(codes[r]);
      sums[r][0] = Dot(sums[r][0], w[0], x);
      sums[r][1] = Dot(sums[r][1], w[1], x);
    }
  }
  const __m256 scales[2] = {LoadScales(b, column), LoadScales(b, column + 8)};
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m256 x_scale = _mm256_castsi256_ps(_mm256_set1_epi32(a[rows + r]));
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      float* out = c + r * c_stride + column + 8 * h;
      const __m256 before = accumulate ? _mm256_load_ps(out) : _mm256_setzero_ps();
      const __m256 scale = _mm256_mul_ps(scales[h], x_scale);
      _mm256_store_ps(out, _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums[r][h]), scale, before));
    }
  }
}

template <int rows, bool int4>
void Tile(const GemmTile& tile) {
  const auto* a = static_cast<const int32_t*>(tile.a);
  const auto* b = static_cast<const char*>(tile.b);
  constexpr int kGroupBytes = int4 ? kInt4GroupBytes : kInt8GroupBytes;
  for (int64_t g = 0; g < tile.steps; ++g, a += rows * kInt8GroupWords, b += kGroupBytes) {
    for (int line = 0; line < kGroupBytes; line += 64) _mm_prefetch(b + 4096 + line, _MM_HINT_T0);
    Group<rows, int4>(a, b, 0, tile.c, tile.c_stride, tile.accumulate || g > 0);
    Group<rows, int4>(a, b, 16, tile.c, tile.c_stride, tile.accumulate || g > 0);
  }
}

template <int rows>
void Dispatch(const GemmTile& tile, bool int4) {
  if constexpr (rows > 0) {
    if (tile.rows == rows) return int4 ? Tile<rows, true>(tile) : Tile<rows, false>(tile);
    return Dispatch<rows - 1>(tile, int4);
  }
}

}  // namespace

void gemm_int8_int8_4x16_avx2(const GemmTile& tile) { Dispatch<kRows>(tile, false); }
void gemm_int8_int4_4x16_avx2(const GemmTile& tile) { Dispatch<kRows>(tile, true); }

}  // namespace saccade
