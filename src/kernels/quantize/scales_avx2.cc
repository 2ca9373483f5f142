// Tries scales of int8 weight groups with AVX2; bit for bit TryScaleInt8().
#include "kernels/kernel_list.h"
#include "kernels/simd_avx2.h"

namespace saccade {

void try_scale_int8_avx2(const ScaleTrial& trial) {
  const __m256 inverse = _mm256_set1_ps(1.0F / trial.scale), scale = _mm256_set1_ps(trial.scale);
  const __m256 low = _mm256_set1_ps(-128.0F), high = _mm256_set1_ps(127.0F);
  for (int half = 0; half < kTrialLanes; half += 8) {
    __m256 errors = _mm256_setzero_ps(), products = errors, squares = errors;
    for (int i = half; i < kGroupSize; i += kTrialLanes) {
      const __m256 w = _mm256_loadu_ps(trial.w + i);
      const __m256 rounded =
          _mm256_round_ps(_mm256_mul_ps(w, inverse), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
      const __m256 level = _mm256_min_ps(_mm256_max_ps(rounded, low), high);
      const __m256 difference = _mm256_fnmadd_ps(level, scale, w);
      errors = _mm256_fmadd_ps(difference, difference, errors);
      products = _mm256_fmadd_ps(w, level, products);
      squares = _mm256_fmadd_ps(level, level, squares);
    }
    _mm256_storeu_ps(trial.errors + half, errors);
    _mm256_storeu_ps(trial.products + half, products);
    _mm256_storeu_ps(trial.squares + half, squares);
  }
}

}  // namespace saccade
