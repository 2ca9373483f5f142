// Passes over a row of logits, shared by sampling and log probabilities. Each is one sweep over memory: a row
// of the published vocabulary has 600 KB.
#pragma once

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
// does not promise, and vectorisable.
float ExpNonPositive(float x);

// weights[i] = exp((logits[i] - max) * scale); returns their sum. `max` is the largest logit, `scale` is
// positive.
double SoftmaxWeights(std::span<const float> logits, float max, float scale, std::span<float> weights);

}  // namespace saccade
