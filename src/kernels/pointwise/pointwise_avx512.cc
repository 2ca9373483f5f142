// AVX512 row kernels of the norms and the rotary embedding; the bodies are in pointwise_inl.h.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"
// The vocabulary above comes first.
#include "kernels/pointwise/pointwise_inl.h"

namespace saccade {

void rms_norm_f32_avx512(const NormRow& row) {
  RmsNormVector(row.x, row.width, row.weight, row.eps, row.out);
}
void layer_norm_f32_avx512(const NormRow& row) { LayerNormVector(row); }
void norm_rope_f32_avx512(const RopeRow& row) { NormRopeVector(row); }
void add_f32_avx512(const Addition& addition) { AddVector(addition); }

}  // namespace saccade
