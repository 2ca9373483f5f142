// AVX2 vocabulary of the kernel files: masks, reductions and elementary functions. Internal linkage only.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace saccade {
namespace {

// All bits set in the first `count` of 8 lanes.
inline __m256i FirstLanes8(int64_t count) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const int bound = count > 8 ? 8 : count < 0 ? 0 : static_cast<int>(count);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(bound), lanes);
}

// The width-independent vocabulary of the *_inl.h files: the same names exist in simd_avx512.h.
using Vec = __m256;
constexpr int kLanes = 8;
inline Vec Zero() { return _mm256_setzero_ps(); }
inline Vec Set(float x) { return _mm256_set1_ps(x); }
inline Vec Load(const float* p) { return _mm256_loadu_ps(p); }
inline void Store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
// The first `count` lanes, 1 or more; others are zero.
inline Vec LoadFirst(const float* p, int64_t count) {
  return count >= kLanes ? Load(p) : _mm256_maskload_ps(p, FirstLanes8(count));
}
inline void StoreFirst(float* p, Vec v, int64_t count) {
  count >= kLanes ? Store(p, v) : _mm256_maskstore_ps(p, FirstLanes8(count), v);
}
inline Vec KeepFirst(Vec v, int64_t count) {
  return _mm256_and_ps(v, _mm256_castsi256_ps(FirstLanes8(count)));
}
// kLanes signed bytes as floats.
inline Vec WidenInt8(const int8_t* p) {
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))));
}
inline Vec Add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec Sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec Mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec MulAdd(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec NegMulAdd(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vec MaxFirst(Vec a, Vec b, int64_t count) {
  return _mm256_blendv_ps(a, _mm256_max_ps(a, b), _mm256_castsi256_ps(FirstLanes8(count)));
}
inline Vec Max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline float ReduceMax(Vec v) {
  __m128 m = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_max_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
}
inline float ReduceAdd(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

// 2^n for integral n in [-252, 254], in two factors so that subnormal results are right.
inline __m256 ScaleByPowerOfTwo(__m256 x, __m256 n) {
  const __m256i whole = _mm256_cvtps_epi32(n);
  const __m256i first = _mm256_srai_epi32(whole, 1), second = _mm256_sub_epi32(whole, first);
  const __m256i bias = _mm256_set1_epi32(127);
  x = _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(first, bias), 23)));
  return _mm256_mul_ps(x, _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(second, bias), 23)));
}

// See simd_avx512.h.
inline __m256 Exp(__m256 x) {
  x = _mm256_max_ps(_mm256_set1_ps(-105.0F), x);
  x = _mm256_min_ps(_mm256_set1_ps(90.0F), x);
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504F)), 8);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), x);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);
  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1F));
  p = _mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r);
  return ScaleByPowerOfTwo(_mm256_add_ps(p, _mm256_set1_ps(1.0F)), n);
}

// 2^t for t <= 0; see simd_avx512.h.
template <bool coarse>
inline __m256 Exp2(__m256 t) {
  t = _mm256_max_ps(_mm256_set1_ps(-200.0F), t);  // the second operand wins when one is NaN
  const __m256 n = _mm256_floor_ps(t), r = _mm256_sub_ps(t, n);
  __m256 p = _mm256_set1_ps(1.893754058e-3F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.949590423e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.586033708e-2F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(2.401418182e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(6.931544897e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(9.999998984e-1F));
  return ScaleByPowerOfTwo(p, n);
}

inline __m256 TimesSigmoid(__m256 x, __m256 y) {
  const __m256 e = Exp(_mm256_sub_ps(_mm256_setzero_ps(), y));
  return _mm256_div_ps(x, _mm256_add_ps(e, _mm256_set1_ps(1.0F)));
}

inline __m256 Silu(__m256 x) { return TimesSigmoid(x, x); }

inline __m256 GeluTanh(__m256 x) {
  const __m256 inner = _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(2.0F * 0.7978845608F * 0.044715F),
                                       _mm256_set1_ps(2.0F * 0.7978845608F));
  return TimesSigmoid(x, _mm256_mul_ps(x, inner));
}

inline __m256 Erf(__m256 x) {
  const __m256 sign_bit = _mm256_set1_ps(-0.0F);
  const __m256 t = _mm256_andnot_ps(sign_bit, x), s = _mm256_mul_ps(x, x);
  __m256 far = _mm256_fmadd_ps(_mm256_set1_ps(-1.72853470e-5F), t, _mm256_set1_ps(3.83197126e-4F));
  const __m256 u = _mm256_fmadd_ps(_mm256_set1_ps(-3.88396438e-3F), t, _mm256_set1_ps(2.42546219e-2F));
  far = _mm256_fmadd_ps(far, s, u);
  far = _mm256_fmadd_ps(far, t, _mm256_set1_ps(-1.06777877e-1F));
  far = _mm256_fmadd_ps(far, t, _mm256_set1_ps(-6.34846687e-1F));
  far = _mm256_fmadd_ps(far, t, _mm256_set1_ps(-1.28717512e-1F));
  far = _mm256_fmsub_ps(far, t, t);
  far = _mm256_sub_ps(_mm256_set1_ps(1.0F), Exp(far));
  far = _mm256_or_ps(far, _mm256_and_ps(sign_bit, x));
  __m256 near = _mm256_fmadd_ps(_mm256_set1_ps(-5.96761703e-4F), s, _mm256_set1_ps(4.99119423e-3F));
  near = _mm256_fmadd_ps(near, s, _mm256_set1_ps(-2.67681349e-2F));
  near = _mm256_fmadd_ps(near, s, _mm256_set1_ps(1.12819925e-1F));
  near = _mm256_fmadd_ps(near, s, _mm256_set1_ps(-3.76125336e-1F));
  near = _mm256_fmadd_ps(near, s, _mm256_set1_ps(1.28379166e-1F));
  near = _mm256_fmadd_ps(near, x, x);
  return _mm256_blendv_ps(near, far, _mm256_cmp_ps(t, _mm256_set1_ps(0.927734375F), _CMP_GT_OQ));
}

inline __m256 GeluErf(__m256 x) {
  const __m256 half = _mm256_mul_ps(x, _mm256_set1_ps(0.5F));
  return _mm256_fmadd_ps(half, Erf(_mm256_mul_ps(x, _mm256_set1_ps(0.70710678F))), half);
}

inline __m256 LowBf16(__m256i pairs) { return _mm256_castsi256_ps(_mm256_slli_epi32(pairs, 16)); }
inline __m256 HighBf16(__m256i pairs) {
  return _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(static_cast<int>(0xffff0000U))));
}

// Round to nearest even as bf16 in the low half of each lane; NaN stays NaN (made quiet).
inline __m256i RoundToBf16(__m256 x) {
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, quiet, nan), 16);
}

}  // namespace
}  // namespace saccade
