// Limits of an AVX2 processor.
#include <immintrin.h>

#include <cstdint>

#include "kernels/kernel_list.h"
#include "kernels/peaks/peak_loop_inl.h"

namespace saccade {

// 8 lanes, multiplication and addition.
void peak_f32_avx2(const PeakLoop& loop) {
  SACCADE_PEAK_LOOP(__m256, _mm256_setzero_ps(), "+x", "vfmadd231ps", 16);
}

// The int8 kernels multiply 16-bit pairs: 16 multiplications and as many additions. Its result replaces the
// accumulator, which only makes the chain as long as that of an addition.
void peak_int8_avx2(const PeakLoop& loop) {
  SACCADE_PEAK_LOOP(__m256i, _mm256_setzero_si256(), "+x", "vpmaddwd", 32);
}

void read_avx2(const ReadStretch& stretch) {
  const auto* data = static_cast<const char*>(stretch.data);
  __m256i a = _mm256_setzero_si256(), b = a, c = a, d = a;
  for (int64_t i = 0; i + 128 <= stretch.bytes; i += 128) {
    if (stretch.prefetch_bytes > 0) {
      _mm_prefetch(data + i + stretch.prefetch_bytes, _MM_HINT_T0);
      _mm_prefetch(data + i + stretch.prefetch_bytes + 64, _MM_HINT_T0);
    }
    a = _mm256_xor_si256(a, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i)));
    b = _mm256_xor_si256(b, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + 32)));
    c = _mm256_xor_si256(c, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + 64)));
    d = _mm256_xor_si256(d, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + i + 96)));
  }
  a = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
  *stretch.sink ^= static_cast<uint64_t>(_mm256_extract_epi64(a, 0));
}

}  // namespace saccade
