// Tries scales of weight groups with AVX-512; bit for bit TryScaleInt8() and TryScaleInt4().
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

struct Int8Levels {
  __m512 operator()(__m512 value) const {
    const __m512 rounded = _mm512_roundscale_ps(value, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    return _mm512_min_ps(_mm512_max_ps(rounded, _mm512_set1_ps(-128.0F)), _mm512_set1_ps(127.0F));
  }
};

// The range -128..128 in 32 cells of 8. Levels lie at least 11 apart, so at most one border between two
// levels falls into a cell: the level follows from the cell and one comparison.
class Int4Levels {
 public:
  Int4Levels() {
    float borders[32], below[32], above[32];
    for (int cell = 0; cell < 32; ++cell) {
      const int first = 8 * cell - 128;
      int level = 0;
      while (level < 15 && kInt4Levels[level] + kInt4Levels[level + 1] < 2 * first) ++level;
      const bool has_border = level < 15 && kInt4Levels[level] + kInt4Levels[level + 1] < 2 * (first + 8);
      borders[cell] =
          has_border ? 0.5F * static_cast<float>(kInt4Levels[level] + kInt4Levels[level + 1]) : 1e9F;
      below[cell] = kInt4Levels[level];
      above[cell] = kInt4Levels[has_border ? level + 1 : level];
    }
    for (int half = 0; half < 2; ++half) {
      borders_[half] = _mm512_loadu_ps(borders + 16 * half);
      below_[half] = _mm512_loadu_ps(below + 16 * half);
      above_[half] = _mm512_loadu_ps(above + 16 * half);
    }
  }
  __m512 operator()(__m512 value) const {
    const __m512 shifted = _mm512_fmadd_ps(value, _mm512_set1_ps(0.125F), _mm512_set1_ps(16.0F));
    __m512i cell = _mm512_cvt_roundps_epi32(shifted, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    cell = _mm512_min_epi32(_mm512_max_epi32(cell, _mm512_setzero_si512()), _mm512_set1_epi32(31));
    const __mmask16 over = _mm512_cmp_ps_mask(value, Pick(borders_, cell), _CMP_GT_OQ);
    return _mm512_mask_blend_ps(over, Pick(below_, cell), Pick(above_, cell));
  }

 private:
  static __m512 Pick(const __m512* table, __m512i cell) {
    return _mm512_permutex2var_ps(table[0], cell, table[1]);
  }
  __m512 borders_[2], below_[2], above_[2];
};

template <class Levels>
SACCADE_INLINE void Try(const ScaleTrial& trial, const Levels& levels) {
  const __m512 inverse = _mm512_set1_ps(1.0F / trial.scale), scale = _mm512_set1_ps(trial.scale);
  __m512 errors = _mm512_setzero_ps(), products = errors, squares = errors;
  for (int i = 0; i < kGroupSize; i += kTrialLanes) {
    const __m512 w = _mm512_loadu_ps(trial.w + i);
    const __m512 level = levels(_mm512_mul_ps(w, inverse));
    const __m512 difference = _mm512_fnmadd_ps(level, scale, w);
    errors = _mm512_fmadd_ps(difference, difference, errors);
    products = _mm512_fmadd_ps(w, level, products);
    squares = _mm512_fmadd_ps(level, level, squares);
  }
  _mm512_storeu_ps(trial.errors, errors);
  _mm512_storeu_ps(trial.products, products);
  _mm512_storeu_ps(trial.squares, squares);
}

}  // namespace

void try_scale_int8_avx512(const ScaleTrial& trial) { Try(trial, Int8Levels()); }

void try_scale_int4_avx512(const ScaleTrial& trial) {
  static const Int4Levels levels;
  Try(trial, levels);
}

}  // namespace saccade
