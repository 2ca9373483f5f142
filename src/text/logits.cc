#include "text/logits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace saccade {
namespace {

// Lanes that the compiler keeps in vector registers, and the stretch after which their result is looked at.
constexpr size_t kLanes = 16;
constexpr size_t kBlock = 256;

// The largest value of a block. Adds 0 or NaN to `poison`: NaN when a value is not finite.
float BlockMax(const float* values, size_t count, float& poison) {
  std::array<float, kLanes> best, check{};
  best.fill(-std::numeric_limits<float>::max());
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const float value = values[i + lane];
      best[lane] = value > best[lane] ? value : best[lane];
      check[lane] += value * 0.0F;
    }
  }
  for (; i < count; ++i) {
    best[0] = values[i] > best[0] ? values[i] : best[0];
    check[0] += values[i] * 0.0F;
  }
  for (const float lane : check) poison += lane;
  return *std::max_element(best.begin(), best.end());
}

// The sum of a block, always added up in the same order.
double BlockSum(std::span<const float> values) {
  std::array<float, kLanes> sums{};
  const size_t whole = values.size() / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane];
  }
  double total = 0;
  for (const float sum : sums) total += sum;
  for (const float value : values.subspan(whole)) total += value;
  return total;
}

bool RanksBefore(const LogitCandidate& a, const LogitCandidate& b) {
  return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
}

}  // namespace

std::optional<int32_t> ArgMax(std::span<const float> logits) {
  if (logits.empty()) return std::nullopt;
  float best = -std::numeric_limits<float>::max();
  float poison = 0;
  size_t best_block = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const float block_max = BlockMax(logits.data() + begin, std::min(kBlock, logits.size() - begin), poison);
    if (block_max > best) {
      best = block_max;
      best_block = begin;
    }
  }
  if (std::isnan(poison)) return std::nullopt;
  const auto block = logits.subspan(best_block);
  return static_cast<int32_t>(
      best_block + static_cast<size_t>(std::find(block.begin(), block.end(), best) - block.begin()));
}

std::vector<LogitCandidate> TopLogits(std::span<const float> logits, size_t count) {
  count = std::min(count, logits.size());
  std::vector<LogitCandidate> top;
  if (count == 0) return top;
  // Candidates gather until there are twice as many as wanted; then the worse half goes. A later token that
  // only equals the worst kept one ranks behind it.
  const size_t capacity = std::max<size_t>(2 * count, 64);
  top.reserve(capacity);
  float threshold = -std::numeric_limits<float>::infinity();
  const auto keep_best = [&] {
    const auto last = top.begin() + static_cast<std::ptrdiff_t>(count) - 1;
    std::nth_element(top.begin(), last, top.end(), RanksBefore);
    threshold = last->logit;
    top.resize(count);
  };
  float poison = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size());
    if (BlockMax(logits.data() + begin, end - begin, poison) <= threshold) continue;
    for (size_t i = begin; i < end; ++i) {
      if (logits[i] <= threshold) continue;
      top.push_back({logits[i], static_cast<int32_t>(i)});
      if (top.size() == capacity) keep_best();
    }
  }
  if (top.size() > count) keep_best();
  std::sort(top.begin(), top.end(), RanksBefore);
  return top;
}

double SoftmaxWeights(std::span<const float> logits, float max, float scale, std::span<float> weights) {
  double total = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size());
    for (size_t i = begin; i < end; ++i) weights[i] = ExpNonPositive((logits[i] - max) * scale);
    total += BlockSum(weights.subspan(begin, end - begin));
  }
  return total;
}

size_t PassesSum(std::span<const float> weights, double target) {
  double sum = 0;
  size_t i = 0;
  for (; i + kBlock <= weights.size(); i += kBlock) {
    const double block = BlockSum(weights.subspan(i, kBlock));
    if (sum + block > target) break;
    sum += block;
  }
  for (; i < weights.size(); ++i) {
    sum += weights[i];
    if (sum > target && weights[i] > 0) return i;
  }
  while (i > 1 && weights[i - 1] <= 0) --i;
  return i - 1;
}

}  // namespace saccade
