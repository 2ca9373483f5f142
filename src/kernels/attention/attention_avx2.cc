// AVX2 attention tiles in f32, and widening of KV pages.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx2.h"
// The vocabulary above comes first.
#include "kernels/attention/attention_inl.h"

namespace saccade {

void scores_f32_avx2(const ScoreTile& tile) { Scores<DotF32>(tile); }
void softmax_f32_avx2(const SoftmaxTile& tile) { Softmax<DotF32>(tile); }
void values_f32_avx2(const ValueTile& tile) { Values<DotF32>(tile); }

void unpack_bf16_f32_avx2(const PageUnpacking& page) {
  const auto* source = static_cast<const uint32_t*>(page.source);
  auto* target = static_cast<float*>(page.target);
  for (int64_t pair = 0; pair < page.pairs; ++pair, source += page.width, target += 2 * page.width) {
    for (int64_t i = 0; i < page.width; i += 8) {
      const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source + i));
      Store(target + i, LowBf16(words));
      Store(target + page.width + i, HighBf16(words));
    }
  }
}

void unpack_int8_f32_avx2(const PageUnpacking& page) {
  const auto* source = static_cast<const int8_t*>(page.source);
  auto* target = static_cast<float*>(page.target);
  for (int64_t i = 0; i < 2 * page.pairs * page.width; i += 8) {
    Store(target + i, WidenInt8(source + i));
  }
}

}  // namespace saccade
