// AVX2 epilogue of a strip of the product: bias, activation, residual, store with a masked tail.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx2.h"

namespace saccade {
namespace {

template <StripOp op>
inline __m256 Apply(__m256 value, __m256 up, const float* out, __m256i mask) {
  if constexpr (op == StripOp::kGeluTanh) return GeluTanh(value);
  if constexpr (op == StripOp::kGeluErf) return GeluErf(value);
  if constexpr (op == StripOp::kAdd) return _mm256_add_ps(_mm256_maskload_ps(out, mask), value);
  if constexpr (op == StripOp::kSwiGlu) return _mm256_mul_ps(Silu(value), up);
  return value;
}

inline __m256 Bias(const float* bias, __m256i mask, int offset) {
  return bias != nullptr ? _mm256_maskload_ps(bias + offset, mask) : _mm256_setzero_ps();
}

template <StripOp op>
void Run(const StripTile& tile) {
  for (int first = 0; first < tile.columns; first += 8) {
    const __m256i mask = FirstLanes8(tile.columns - first);
    const __m256 bias = Bias(tile.bias, mask, first);
    const __m256 up_bias = op == StripOp::kSwiGlu ? Bias(tile.up_bias, mask, first) : _mm256_setzero_ps();
    const float* c = tile.c + first;
    float* out = tile.out + first;
    for (int64_t row = 0; row < tile.rows; ++row, c += tile.c_stride, out += tile.out_stride) {
      const __m256 value = _mm256_add_ps(_mm256_load_ps(c), bias);
      __m256 up = _mm256_setzero_ps();
      if constexpr (op == StripOp::kSwiGlu) up = _mm256_add_ps(_mm256_load_ps(c + kBlockColumns), up_bias);
      _mm256_maskstore_ps(out, mask, Apply<op>(value, up, out, mask));
    }
  }
}

}  // namespace

void strip_f32_avx2(const StripTile& tile) {
  switch (tile.op) {
    case StripOp::kStore:
      return Run<StripOp::kStore>(tile);
    case StripOp::kGeluTanh:
      return Run<StripOp::kGeluTanh>(tile);
    case StripOp::kGeluErf:
      return Run<StripOp::kGeluErf>(tile);
    case StripOp::kAdd:
      return Run<StripOp::kAdd>(tile);
    case StripOp::kSwiGlu:
      return Run<StripOp::kSwiGlu>(tile);
  }
}

}  // namespace saccade
