// Shared by the tests of this folder: reproducible data, packed matrices that own their memory, error
// measures.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"

namespace saccade::testing {

inline constexpr double kEpsF32 = 5.96e-8;  // half an ulp of 1
inline constexpr double kEpsBf16 = 3.91e-3 / 2;

inline std::vector<float> RandomFloats(int64_t count, uint32_t seed, float scale = 1.0F) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

inline void RoundAllToBf16(std::vector<float>& values) {
  for (float& value : values) value = Bf16ToFloat(FloatToBf16(value));
}

inline TensorView ViewOf(const std::vector<float>& values, std::vector<int64_t> shape) {
  return {DType::kF32, std::move(shape), std::as_bytes(std::span(values))};
}

inline double Norm(std::span<const float> values) {
  double sum = 0.0;
  for (float value : values) sum += double{value} * double{value};
  return std::sqrt(sum);
}

// Relative L2 distance of `actual` from `expected`.
inline double RelativeError(std::span<const float> actual, std::span<const float> expected) {
  double difference = 0.0, size = 0.0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double d = double{actual[i]} - double{expected[i]};
    difference += d * d;
    size += double{expected[i]} * double{expected[i]};
  }
  return size == 0.0 ? std::sqrt(difference) : std::sqrt(difference / size);
}

// A pool and a context on one ISA.
struct Machine {
  explicit Machine(Isa isa, int threads = 1) : pool(threads), context(pool, isa) {}
  ThreadPool pool;
  KernelContext context;
};

struct OwnedMatrix {
  OwnedMatrix(KernelContext& context, WeightType type, const std::vector<float>& w, int64_t n, int64_t k)
      : memory(PackedBytes(type, n, k)),
        matrix(PackMatrix(context, type, ViewOf(w, {n, k}), memory.data())) {}
  OwnedMatrix(KernelContext& context, WeightType type, const std::vector<float>& gate,
              const std::vector<float>& up, int64_t n, int64_t k)
      : memory(2 * PackedBytes(type, n, k)),
        matrix(PackGateUp(context, type, ViewOf(gate, {n, k}), ViewOf(up, {n, k}), memory.data())) {}
  AlignedBuffer memory;
  PackedMatrix matrix;
};

}  // namespace saccade::testing
