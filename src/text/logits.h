// Passes over a row of logits, shared by sampling and log probabilities. Each is one sweep over memory: a row
// of the published vocabulary has 600 KB.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace saccade {

struct LogitCandidate {
  float logit = 0;
  int32_t token = 0;
};

// The index of the largest logit, the lowest one among equals. nullopt when the row is empty or any entry is
// NaN or infinite.
std::optional<int32_t> ArgMax(std::span<const float> logits);

// The `count` largest logits in descending order, equal ones by id. `logits` must be finite.
std::vector<LogitCandidate> TopLogits(std::span<const float> logits, size_t count);

// exp(x) for x <= 0, relative error below 2e-7, 0 below -87. The same bits on every machine, which std::exp
// does not promise, and free of branches, so that loops over it become vector code.
inline float ExpNonPositive(float x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
  // Compared as integers (the bits of negative floats grow downwards): a comparison of floats would stay a
  // branch.
  constexpr auto kLowest = std::bit_cast<uint32_t>(-87.0F);
  const auto bits = std::bit_cast<uint32_t>(x);
  const auto clamped = std::bit_cast<float>(bits > kLowest ? kLowest : bits);
  const float shifted = clamped * kLog2E + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  // Polynomial of exp(r) on [-ln2/2, ln2/2] (Cephes expf).
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  p = p * r * r + r + 1.0F;
  const uint32_t exponent = (std::bit_cast<uint32_t>(shifted) + 127U) << 23;  // 2^n
  const float result = p * std::bit_cast<float>(exponent);
  return std::bit_cast<float>(std::bit_cast<uint32_t>(result) & (bits > kLowest ? 0U : ~0U));
}

// weights[i] = exp((logits[i] - max) * scale); returns their sum. `max` is the largest logit, `scale` is
// positive.
double SoftmaxWeights(std::span<const float> logits, float max, float scale, std::span<float> weights);

// The index at which the running sum of `weights` (not empty, none negative, not all zero) passes `target`;
// the last one with a weight when rounding keeps the sum from reaching it.
size_t PassesSum(std::span<const float> weights, double target);

}  // namespace saccade
