// AVX-512 vocabulary of the kernel files: masks, reductions and elementary functions. Internal linkage only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace saccade {
namespace {

// The first `count` lanes; all 16 when there are more.
inline __mmask16 FirstLanes(int64_t count) {
  return count >= 16 ? static_cast<__mmask16>(0xffff) : static_cast<__mmask16>((1U << count) - 1U);
}

// The width-independent vocabulary of the *_inl.h files: the same names exist in simd_avx2.h.
using Vec = __m512;
constexpr int kLanes = 16;
inline Vec Zero() { return _mm512_setzero_ps(); }
inline Vec Set(float x) { return _mm512_set1_ps(x); }
inline Vec Load(const float* p) { return _mm512_loadu_ps(p); }
inline void Store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
// The first `count` lanes, 1 or more; others are zero.
inline Vec LoadFirst(const float* p, int64_t count) { return _mm512_maskz_loadu_ps(FirstLanes(count), p); }
inline void StoreFirst(float* p, Vec v, int64_t count) { _mm512_mask_storeu_ps(p, FirstLanes(count), v); }
inline Vec KeepFirst(Vec v, int64_t count) { return _mm512_maskz_mov_ps(FirstLanes(count), v); }
// kLanes signed bytes as floats.
inline Vec WidenInt8(const int8_t* p) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
}
inline Vec Add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec Sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec Mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec NegMulAdd(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
inline float ReduceAdd(Vec v) { return _mm512_reduce_add_ps(v); }
inline Vec Max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline float ReduceMax(Vec v) { return _mm512_reduce_max_ps(v); }
// max(a, b) in the first `count` lanes, a in the others.
inline Vec MaxFirst(Vec a, Vec b, int64_t count) { return _mm512_mask_max_ps(a, FirstLanes(count), a, b); }

// e^x with an error below 2 ulp; 0 below -104, infinity above 89, NaN stays NaN.
inline __m512 Exp(__m512 x) {
  x = _mm512_max_ps(_mm512_set1_ps(-105.0F), x);  // the second operand wins when one is NaN
  x = _mm512_min_ps(_mm512_set1_ps(90.0F), x);
  const __m512 n = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504F)), 8);
  __m512 r = _mm512_fnmadd_ps(n, _mm512_set1_ps(0.693359375F), x);
  r = _mm512_fnmadd_ps(n, _mm512_set1_ps(-2.12194440e-4F), r);
  __m512 p = _mm512_set1_ps(1.9875691500e-4F);
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.3981999507e-3F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.3334519073e-3F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(4.1665795894e-2F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(1.6666665459e-1F));
  p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.0000001201e-1F));
  p = _mm512_fmadd_ps(p, _mm512_mul_ps(r, r), r);
  return _mm512_scalef_ps(_mm512_add_ps(p, _mm512_set1_ps(1.0F)), n);
}

// 2^t for t <= 0 from a polynomial on the fraction: relative error 1e-7, or 1e-4 when `coarse`, which is far
// below the rounding of a bf16. VREDUCEPS gives t - floor(t); VSCALEFPS takes the floor itself.
template <bool coarse>
inline __m512 Exp2(__m512 t) {
  const __m512 r = _mm512_reduce_ps(t, 9);
  __m512 p = _mm512_set1_ps(7.896725704e-2F);
  if constexpr (coarse) {
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.246931558e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.963247711e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(9.999002882e-1F));
  } else {
    p = _mm512_set1_ps(1.893754058e-3F);
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(8.949590423e-3F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(5.586033708e-2F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(2.401418182e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(6.931544897e-1F));
    p = _mm512_fmadd_ps(p, r, _mm512_set1_ps(9.999998984e-1F));
  }
  return _mm512_scalef_ps(p, t);
}

// x / (1 + e^-y): SiLU for y = x.
inline __m512 TimesSigmoid(__m512 x, __m512 y) {
  const __m512 e = Exp(_mm512_sub_ps(_mm512_setzero_ps(), y));
  return _mm512_div_ps(x, _mm512_add_ps(e, _mm512_set1_ps(1.0F)));
}

inline __m512 Silu(__m512 x) { return TimesSigmoid(x, x); }

// x * (1 + tanh(u)) / 2 = x * sigmoid(2u), which has no cancellation for negative x.
inline __m512 GeluTanh(__m512 x) {
  const __m512 x2 = _mm512_mul_ps(x, x);
  const __m512 inner = _mm512_fmadd_ps(x2, _mm512_set1_ps(2.0F * 0.7978845608F * 0.044715F),
                                       _mm512_set1_ps(2.0F * 0.7978845608F));
  return TimesSigmoid(x, _mm512_mul_ps(x, inner));
}

// erf with an error of about 1 ulp: a polynomial near zero, 1 - e^poly(|x|) further out.
inline __m512 Erf(__m512 x) {
  const __m512 t = _mm512_abs_ps(x), s = _mm512_mul_ps(x, x);
  __m512 far = _mm512_fmadd_ps(_mm512_set1_ps(-1.72853470e-5F), t, _mm512_set1_ps(3.83197126e-4F));
  const __m512 u = _mm512_fmadd_ps(_mm512_set1_ps(-3.88396438e-3F), t, _mm512_set1_ps(2.42546219e-2F));
  far = _mm512_fmadd_ps(far, s, u);
  far = _mm512_fmadd_ps(far, t, _mm512_set1_ps(-1.06777877e-1F));
  far = _mm512_fmadd_ps(far, t, _mm512_set1_ps(-6.34846687e-1F));
  far = _mm512_fmadd_ps(far, t, _mm512_set1_ps(-1.28717512e-1F));
  far = _mm512_fmsub_ps(far, t, t);
  far = _mm512_sub_ps(_mm512_set1_ps(1.0F), Exp(far));
  const __m512i sign = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(INT32_MIN));
  far = _mm512_castsi512_ps(_mm512_or_si512(_mm512_castps_si512(far), sign));
  __m512 near = _mm512_fmadd_ps(_mm512_set1_ps(-5.96761703e-4F), s, _mm512_set1_ps(4.99119423e-3F));
  near = _mm512_fmadd_ps(near, s, _mm512_set1_ps(-2.67681349e-2F));
  near = _mm512_fmadd_ps(near, s, _mm512_set1_ps(1.12819925e-1F));
  near = _mm512_fmadd_ps(near, s, _mm512_set1_ps(-3.76125336e-1F));
  near = _mm512_fmadd_ps(near, s, _mm512_set1_ps(1.28379166e-1F));
  near = _mm512_fmadd_ps(near, x, x);
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(t, _mm512_set1_ps(0.927734375F), _CMP_GT_OQ), near, far);
}

inline __m512 GeluErf(__m512 x) {
  const __m512 half = _mm512_mul_ps(x, _mm512_set1_ps(0.5F));
  return _mm512_fmadd_ps(half, Erf(_mm512_mul_ps(x, _mm512_set1_ps(0.70710678F))), half);
}

// Widens the even (lower) and odd (upper) bf16 of each 32-bit lane.
inline __m512 LowBf16(__m512i pairs) { return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16)); }
inline __m512 HighBf16(__m512i pairs) {
  return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xffff0000U))));
}

// Round to nearest even as bf16 in the low half of each lane; NaN stays NaN (made quiet).
inline __m512i RoundToBf16(__m512 x) {
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  __m512i rounded = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff)));
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  rounded = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
  return _mm512_srli_epi32(rounded, 16);
}

}  // namespace
}  // namespace saccade
