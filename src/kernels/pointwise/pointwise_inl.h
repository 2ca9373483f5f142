// Row kernels of the norms and the rotary embedding over the vocabulary of simd_<isa>.h, which the including
// ISA file has brought in. Internal linkage.
#pragma once

#include "kernels/tile.h"

namespace saccade {
namespace {

inline float InverseRoot(float mean, float eps) {
  return 1.0F / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + eps)));
}

inline float SumOfSquares(const float* x, int64_t width) {
  Vec sums[4] = {Zero(), Zero(), Zero(), Zero()};
  int64_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
    SACCADE_UNROLL
    for (int j = 0; j < 4; ++j) {
      const Vec v = Load(x + i + j * kLanes);
      sums[j] = MulAdd(v, v, sums[j]);
    }
  }
  for (; i < width; i += kLanes) {
    const Vec v = LoadFirst(x + i, width - i);
    sums[0] = MulAdd(v, v, sums[0]);
  }
  return ReduceAdd(Add(Add(sums[0], sums[1]), Add(sums[2], sums[3])));
}

inline void RmsNormVector(const float* x, int64_t width, const float* weight, float eps, float* out) {
  const Vec factor = Set(InverseRoot(SumOfSquares(x, width) / static_cast<float>(width), eps));
  for (int64_t i = 0; i < width; i += kLanes) {
    const Vec scaled = Mul(LoadFirst(x + i, width - i), factor);
    StoreFirst(out + i, Mul(scaled, LoadFirst(weight + i, width - i)), width - i);
  }
}

inline void LayerNormVector(const NormRow& row) {
  Vec sum = Zero();
  for (int64_t i = 0; i < row.width; i += kLanes) sum = Add(sum, LoadFirst(row.x + i, row.width - i));
  const Vec mean = Set(ReduceAdd(sum) / static_cast<float>(row.width));
  Vec squares = Zero();
  for (int64_t i = 0; i < row.width; i += kLanes) {
    const Vec d = KeepFirst(Sub(LoadFirst(row.x + i, row.width - i), mean), row.width - i);
    squares = MulAdd(d, d, squares);
  }
  const Vec factor = Set(InverseRoot(ReduceAdd(squares) / static_cast<float>(row.width), row.eps));
  for (int64_t i = 0; i < row.width; i += kLanes) {
    const int64_t left = row.width - i;
    const Vec scaled = Mul(Sub(LoadFirst(row.x + i, left), mean), factor);
    StoreFirst(row.out + i, MulAdd(scaled, LoadFirst(row.weight + i, left), LoadFirst(row.bias + i, left)),
               left);
  }
}

inline void NormRopeVector(const RopeRow& row) {
  const int64_t half = row.head_dim / 2;
  float* x = row.x;
  for (int64_t head = 0; head < row.heads; ++head, x += row.head_dim) {
    if (row.norm_weight != nullptr) RmsNormVector(x, row.head_dim, row.norm_weight, row.eps, x);
    for (int64_t i = 0; i < half; i += kLanes) {
      const int64_t left = half - i;
      const Vec a = LoadFirst(x + i, left), b = LoadFirst(x + half + i, left);
      const Vec cos = LoadFirst(row.cos + i, left), sin = LoadFirst(row.sin + i, left);
      StoreFirst(x + i, NegMulAdd(b, sin, Mul(a, cos)), left);
      StoreFirst(x + half + i, MulAdd(a, sin, Mul(b, cos)), left);
    }
  }
}

inline void AddVector(const Addition& addition) {
  for (int64_t i = 0; i < addition.count; i += kLanes) {
    const int64_t left = addition.count - i;
    StoreFirst(addition.out + i, Add(LoadFirst(addition.out + i, left), LoadFirst(addition.x + i, left)),
               left);
  }
}

}  // namespace
}  // namespace saccade
