// AVX2 conversion of activation rows to int8 groups; the same integers as QuantizeActivations().
#include "kernels/kernel_list.h"
#include "kernels/simd_avx2.h"

namespace saccade {
namespace {

constexpr int kVectors = kGroupSize / 8;

inline int32_t ReduceMax(__m256i v) {
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
  return _mm_cvtsi128_si32(m);
}

inline int32_t ReduceSum(__m256i v) {
  __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
  s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
  return _mm_cvtsi128_si32(s);
}

// 127 / amax and amax / 127 with the special cases of QuantizeActivations(). Returns false for broken input.
inline bool Scales(float amax, float& inverse, float& scale) {
  inverse = 0.0F;
  scale = 0.0F;
  if (!(amax <= 3.402823466e38F)) {
    scale = __builtin_nanf("");
    return false;
  }
  if (amax >= 1e-30F) {
    inverse = 127.0F / amax;
    scale = amax / 127.0F;
  }
  return true;
}

void QuantizeGroup(const float* x, int64_t count, uint32_t* out, float& scale, int32_t& start) {
  __m256 v[kVectors];
  __m256i largest = _mm256_setzero_si256();
  const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
  for (int i = 0; i < kVectors; ++i) {
    v[i] = _mm256_maskload_ps(x + 8 * i, FirstLanes8(count - 8 * i));
    largest = _mm256_max_epi32(largest, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
  }
  const int32_t bits = ReduceMax(largest);
  float amax = 0.0F;
  __builtin_memcpy(&amax, &bits, 4);
  float inverse = 0.0F;
  const bool finite = Scales(amax, inverse, scale);
  __m256i sum = _mm256_setzero_si256();
  for (int i = 0; i < kVectors; ++i) {
    __m256i q = _mm256_setzero_si256();
    if (finite) q = _mm256_cvtps_epi32(_mm256_mul_ps(v[i], _mm256_set1_ps(inverse)));
    sum = _mm256_add_epi32(sum, q);
    const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(q), _mm256_extracti128_si256(q, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + 2 * i), _mm_packs_epi16(words, words));
  }
  start = -128 * ReduceSum(sum);
}

}  // namespace

void quantize_row_int8_avx2(const RowConversion& row) {
  const int64_t groups = row.words / kGroupSteps;
  for (int64_t g = 0; g < groups; ++g) {
    QuantizeGroup(row.x + g * kGroupSize, row.k - g * kGroupSize, row.out + g * kGroupSteps, row.scales[g],
                  row.starts[g]);
  }
}

}  // namespace saccade
