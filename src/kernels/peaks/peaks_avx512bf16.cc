// Limit of bf16 dot products: 32 multiplications and as many additions.
#include <immintrin.h>

#include <cstdint>

#include "kernels/kernel_list.h"
#include "kernels/peaks/peak_loop_inl.h"

namespace saccade {

void peak_bf16_avx512bf16(const PeakLoop& loop) {
  SACCADE_PEAK_LOOP(__m512, _mm512_setzero_ps(), "+v", "vdpbf16ps", 64);
}

}  // namespace saccade
