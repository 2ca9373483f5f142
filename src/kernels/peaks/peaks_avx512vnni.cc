// Limit of int8 dot products: 64 multiplications and as many additions.
#include <immintrin.h>

#include <cstdint>

#include "kernels/kernel_list.h"
#include "kernels/peaks/peak_loop_inl.h"

namespace saccade {

void peak_int8_avx512vnni(const PeakLoop& loop) {
  SACCADE_PEAK_LOOP(__m512i, _mm512_setzero_si512(), "+v", "vpdpbusd", 128);
}

}  // namespace saccade
