// AVX-512 epilogue of a strip of the product: bias, activation, residual, store with a masked tail.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

template <StripOp op>
inline __m512 Apply(__m512 value, __m512 up, const float* out, __mmask16 mask) {
  if constexpr (op == StripOp::kGeluTanh) return GeluTanh(value);
  if constexpr (op == StripOp::kGeluErf) return GeluErf(value);
  if constexpr (op == StripOp::kAdd) return _mm512_add_ps(_mm512_maskz_loadu_ps(mask, out), value);
  if constexpr (op == StripOp::kSwiGlu) return _mm512_mul_ps(Silu(value), up);
  return value;
}

inline __m512 Bias(const float* bias, __mmask16 mask, int offset) {
  return bias != nullptr ? _mm512_maskz_loadu_ps(mask, bias + offset) : _mm512_setzero_ps();
}

template <StripOp op>
void Run(const StripTile& tile) {
  for (int h = 0; 16 * h < tile.columns; ++h) {
    const __mmask16 mask = FirstLanes(tile.columns - 16 * h);
    const __m512 bias = Bias(tile.bias, mask, 16 * h);
    const __m512 up_bias = op == StripOp::kSwiGlu ? Bias(tile.up_bias, mask, 16 * h) : _mm512_setzero_ps();
    const float* c = tile.c + 16 * h;
    float* out = tile.out + 16 * h;
    for (int64_t row = 0; row < tile.rows; ++row, c += tile.c_stride, out += tile.out_stride) {
      const __m512 value = _mm512_add_ps(_mm512_load_ps(c), bias);
      __m512 up = _mm512_setzero_ps();
      if constexpr (op == StripOp::kSwiGlu) up = _mm512_add_ps(_mm512_load_ps(c + kBlockColumns), up_bias);
      _mm512_mask_storeu_ps(out, mask, Apply<op>(value, up, out, mask));
    }
  }
}

}  // namespace

void strip_f32_avx512(const StripTile& tile) {
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
