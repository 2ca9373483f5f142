// Rounds activation rows to bf16 pairs.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {

void round_row_bf16_avx512bf16(const RowConversion& row) {
  for (int64_t word = 0; word < row.words; word += 8) {
    const int64_t first = 2 * word;
    const __m512 v = _mm512_maskz_loadu_ps(FirstLanes(row.k - first), row.x + first);
    const __m256bh rounded = _mm512_cvtneps_pbh(v);
    const __mmask8 mask = static_cast<__mmask8>(FirstLanes(row.words - word) & 0xff);
    _mm256_mask_storeu_epi32(row.out + word, mask, reinterpret_cast<const __m256i&>(rounded));
  }
}

}  // namespace saccade
