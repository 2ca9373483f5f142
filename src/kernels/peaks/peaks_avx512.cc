// Limits of an AVX-512 processor.
#include <immintrin.h>

#include <cstdint>

#include "kernels/kernel_list.h"
#include "kernels/peaks/peak_loop_inl.h"

namespace saccade {

void peak_f32_avx512(const PeakLoop& loop) {
  SACCADE_PEAK_LOOP(__m512, _mm512_setzero_ps(), "+v", "vfmadd231ps", 32);
}

void read_avx512(const ReadStretch& stretch) {
  const auto* data = static_cast<const char*>(stretch.data);
  __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a;
  for (int64_t i = 0; i + 256 <= stretch.bytes; i += 256) {
    if (stretch.prefetch_bytes > 0) {
      for (int64_t line = 0; line < 256; line += 64) {
        _mm_prefetch(data + i + stretch.prefetch_bytes + line, _MM_HINT_T0);
      }
    }
    a = _mm512_xor_si512(a, _mm512_loadu_si512(data + i));
    b = _mm512_xor_si512(b, _mm512_loadu_si512(data + i + 64));
    c = _mm512_xor_si512(c, _mm512_loadu_si512(data + i + 128));
    d = _mm512_xor_si512(d, _mm512_loadu_si512(data + i + 192));
  }
  a = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
  *stretch.sink ^= static_cast<uint64_t>(_mm512_reduce_add_epi64(a));
}

}  // namespace saccade
