// AVX512-BF16 attention tiles: bf16 queries, keys, probabilities and values, f32 sums.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"
// The vocabulary above comes first.
#include "kernels/attention/attention_inl.h"

namespace saccade {
namespace {

// Words are pairs of bf16.
struct DotBf16 {
  using Element = uint32_t;
  using Operand = __m512bh;
  static constexpr bool kCoarse = true;
  static __m512bh Cast(__m512i v) { return reinterpret_cast<__m512bh&>(v); }
  static __m512bh LoadElements(const uint32_t* p) { return Cast(_mm512_loadu_si512(p)); }
  static __m512bh Broadcast(const uint32_t* p) { return Cast(_mm512_set1_epi32(static_cast<int>(*p))); }
  static Vec Sum(Vec sum, __m512bh x, __m512bh b) { return _mm512_dpbf16_ps(sum, x, b); }
  // Written over scores that were read before: words of keys [key, key + 32) start at key / 2.
  static void StorePair(float* row, int64_t key, Vec first, Vec second) {
    const __m512bh words = _mm512_cvtne2ps_pbh(second, first);
    _mm512_storeu_si512(row + key / 2, reinterpret_cast<const __m512i&>(words));
  }
};

}  // namespace

void scores_bf16_avx512bf16(const ScoreTile& tile) { Scores<DotBf16>(tile); }
void softmax_bf16_avx512bf16(const SoftmaxTile& tile) { Softmax<DotBf16>(tile); }
void values_bf16_avx512bf16(const ValueTile& tile) { Values<DotBf16>(tile); }

// Integers up to 127 are exact in bf16: the upper halves of their floats.
void unpack_int8_bf16_avx512bf16(const PageUnpacking& page) {
  const auto* source = static_cast<const int8_t*>(page.source);
  auto* target = static_cast<uint32_t*>(page.target);
  for (int64_t pair = 0; pair < page.pairs; ++pair, source += 2 * page.width, target += page.width) {
    for (int64_t i = 0; i < page.width; i += 16) {
      const __m512i low = _mm512_srli_epi32(_mm512_castps_si512(WidenInt8(source + i)), 16);
      const __m512i high = _mm512_castps_si512(WidenInt8(source + page.width + i));
      _mm512_storeu_si512(target + i, _mm512_or_si512(low, high));
    }
  }
}

}  // namespace saccade
