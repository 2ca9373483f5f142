#include <immintrin.h>

#include <cstdint>

// Twelve times the instruction, one per accumulator, as text so that no compiler merges or drops them.
#define SACCADE_PEAK_LOOP(instruction)                                                                       \
  __m512 a0 = _mm512_setzero_ps(), a1 = a0, a2 = a0, a3 = a0, a4 = a0, a5 = a0, a6 = a0, a7 = a0, a8 = a0,   \
         a9 = a0;                                                                                            \
  __m512 a10 = a0, a11 = a0;                                                                                 \
  const __m512 b = a0;                                                                                       \
  for (int64_t i = 0; i < iterations; ++i) {                                                                 \
    asm volatile(instruction                                                                                 \
                 " %12, %12, %0\n" instruction " %12, %12, %1\n" instruction " %12, %12, %2\n" instruction   \
                 " %12, %12, %3\n" instruction " %12, %12, %4\n" instruction " %12, %12, %5\n" instruction   \
                 " %12, %12, %6\n" instruction " %12, %12, %7\n" instruction " %12, %12, %8\n" instruction   \
                 " %12, %12, %9\n" instruction " %12, %12, %10\n" instruction " %12, %12, %11\n"             \
                 : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5), "+v"(a6), "+v"(a7), "+v"(a8), \
                   "+v"(a9), "+v"(a10), "+v"(a11)                                                            \
                 : "v"(b));                                                                                  \
  }

namespace saccade {

void peak_fma_avx512bf16(int64_t iterations);
void peak_bf16_avx512bf16(int64_t iterations);
void peak_int8_avx512bf16(int64_t iterations);

void peak_fma_avx512bf16(int64_t iterations) { SACCADE_PEAK_LOOP("vfmadd231ps") }
void peak_bf16_avx512bf16(int64_t iterations) { SACCADE_PEAK_LOOP("vdpbf16ps") }
void peak_int8_avx512bf16(int64_t iterations) { SACCADE_PEAK_LOOP("vpdpbusd") }

}  // namespace saccade
