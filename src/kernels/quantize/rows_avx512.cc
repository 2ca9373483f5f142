// AVX-512 conversion of activation rows to int8 groups; the same integers as QuantizeActivations().
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

constexpr int kVectors = kGroupSize / 16;

// 127 / amax and amax / 127 with the special cases of QuantizeActivations().
inline void Scales(float amax, float& inverse, float& scale) {
  inverse = 0.0F;
  scale = 0.0F;
  if (!(amax <= 3.402823466e38F)) {
    scale = __builtin_nanf("");
  } else if (amax >= 1e-30F) {
    inverse = 127.0F / amax;
    scale = amax / 127.0F;
  }
}

void QuantizeGroup(const float* x, int64_t count, uint32_t* out, float& scale, int32_t& start) {
  __m512 v[kVectors];
  __m512i largest = _mm512_setzero_si512();
  for (int i = 0; i < kVectors; ++i) {
    v[i] = _mm512_maskz_loadu_ps(count > 16 * i ? FirstLanes(count - 16 * i) : __mmask16{0}, x + 16 * i);
    largest = _mm512_max_epi32(largest, _mm512_castps_si512(_mm512_abs_ps(v[i])));
  }
  const int32_t bits = _mm512_reduce_max_epi32(largest);
  float amax = 0.0F;
  __builtin_memcpy(&amax, &bits, 4);
  float inverse = 0.0F;
  Scales(amax, inverse, scale);
  if (!(amax <= 3.402823466e38F)) {
    for (int i = 0; i < kVectors; ++i) v[i] = _mm512_setzero_ps();
  }
  __m512i sum = _mm512_setzero_si512();
  for (int i = 0; i < kVectors; ++i) {
    const __m512i q = _mm512_cvtps_epi32(_mm512_mul_ps(v[i], _mm512_set1_ps(inverse)));
    sum = _mm512_add_epi32(sum, q);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 4 * i), _mm512_cvtsepi32_epi8(q));
  }
  start = -128 * _mm512_reduce_add_epi32(sum);
}

}  // namespace

void quantize_row_int8_avx512(const RowConversion& row) {
  const int64_t groups = row.words / kGroupSteps;
  for (int64_t g = 0; g < groups; ++g) {
    QuantizeGroup(row.x + g * kGroupSize, row.k - g * kGroupSize, row.out + g * kGroupSteps, row.scales[g],
                  row.starts[g]);
  }
}

}  // namespace saccade
