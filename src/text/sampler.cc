#include "text/sampler.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "text/logits.h"

namespace saccade {
namespace {

// Below this the distribution is a single token for every float logit difference that matters.
constexpr float kGreedyTemperature = 1e-5F;
constexpr size_t kMaxLogitBias = 4096;

Status CheckRange(const char* field, double value, double min, double max) {
  if (value >= min && value <= max) return OkStatus();  // false for NaN
  return InvalidArgument("\"{}\" is {}, accepted is {} to {}", field, value, min, max).WithParam(field);
}

Status NotFinite() { return Internal("the model produced a logit that is NaN or infinite"); }

// SplitMix64's output function: a bijection whose outputs for consecutive inputs look random.
uint64_t Mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// The weights of the leading candidates that top-p and min-p let pass: at least one, at most all of `top`.
struct Kept {
  std::vector<float> weights;
  double sum = 0;
  bool complete = false;  // false: candidates beyond `top` might pass as well
};
// `total` is the sum of the weights of all candidates, those beyond `top` included.
Kept KeepLeading(const std::vector<LogitCandidate>& top, double total, float scale,
                 const SamplingParams& params) {
  Kept kept;
  for (const LogitCandidate& candidate : top) {
    const float weight = ExpNonPositive((candidate.logit - top[0].logit) * scale);
    const bool enough = kept.sum >= double{params.top_p} * total || weight < params.min_p || weight <= 0;
    if (!kept.weights.empty() && enough) {
      kept.complete = true;
      break;
    }
    kept.weights.push_back(weight);
    kept.sum += weight;
  }
  return kept;
}

}  // namespace

Status SamplingParams::Validate() const {
  SACCADE_RETURN_IF_ERROR(CheckRange("temperature", temperature, 0, 100));
  SACCADE_RETURN_IF_ERROR(CheckRange("top_k", top_k, -1, INT32_MAX));
  SACCADE_RETURN_IF_ERROR(CheckRange("top_p", top_p, 0, 1));
  if (top_p == 0) return InvalidArgument("\"top_p\" must be greater than 0").WithParam("top_p");
  SACCADE_RETURN_IF_ERROR(CheckRange("min_p", min_p, 0, 1));
  SACCADE_RETURN_IF_ERROR(CheckRange("repetition_penalty", repetition_penalty, 0.01, 100));
  SACCADE_RETURN_IF_ERROR(CheckRange("presence_penalty", presence_penalty, -2, 2));
  SACCADE_RETURN_IF_ERROR(CheckRange("frequency_penalty", frequency_penalty, -2, 2));
  if (logit_bias.size() > kMaxLogitBias) {
    return InvalidArgument("\"logit_bias\" has {} entries, the limit is {}", logit_bias.size(), kMaxLogitBias)
        .WithParam("logit_bias");
  }
  for (const auto& [token, bias] : logit_bias) {
    if (token >= 0 && bias >= -100 && bias <= 100) continue;
    return InvalidArgument("\"logit_bias\" of token {} is {}, accepted is -100 to 100", token, bias)
        .WithParam("logit_bias");
  }
  return OkStatus();
}

Sampler::Sampler(SamplingParams params, std::span<const int32_t> prompt) : params_(std::move(params)) {
  if (params_.repetition_penalty == 1) return;
  for (const int32_t token : prompt) {
    if (answer_counts_.emplace(token, 0).second) seen_.push_back(token);
  }
}

bool Sampler::HasAdjustments() const { return !seen_.empty() || !params_.logit_bias.empty(); }

void Sampler::Accept(int32_t token) {
  if (params_.repetition_penalty == 1 && params_.presence_penalty == 0 && params_.frequency_penalty == 0)
    return;
  const auto [entry, is_new] = answer_counts_.emplace(token, 0);
  if (is_new) seen_.push_back(token);
  ++entry->second;
}

void Sampler::Adjust(std::vector<float>& logits) const {
  const auto inside = [&](int32_t token) { return token >= 0 && static_cast<size_t>(token) < logits.size(); };
  for (const auto& [token, bias] : params_.logit_bias) {
    if (inside(token)) logits[static_cast<size_t>(token)] += bias;
  }
  for (const int32_t token : seen_) {
    if (!inside(token)) continue;
    float& logit = logits[static_cast<size_t>(token)];
    logit = logit < 0 ? logit * params_.repetition_penalty : logit / params_.repetition_penalty;
    const auto count = static_cast<float>(answer_counts_.at(token));
    if (count > 0) logit -= params_.presence_penalty + params_.frequency_penalty * count;
  }
}

double Sampler::NextUniform() {
  const uint64_t bits = Mix(Mix(params_.seed ^ 0x5361636361646521U) + ++drawn_ * 0x9E3779B97F4A7C15U);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

Result<int32_t> Sampler::Choose(std::span<const float> logits) {
  const std::optional<int32_t> best = ArgMax(logits);
  if (!best.has_value()) return NotFinite();
  if (params_.temperature < kGreedyTemperature || params_.top_k == 1) return *best;
  const float scale = 1 / params_.temperature;
  const size_t all = logits.size();
  const size_t limit = params_.top_k > 0 ? std::min(static_cast<size_t>(params_.top_k), all) : all;
  const double uniform = NextUniform();
  double total = 0;
  if (limit == all) {
    weights_.resize(all);
    total = SoftmaxWeights(logits, logits[static_cast<size_t>(*best)], scale, weights_);
    if (params_.top_p >= 1 && params_.min_p <= 0) {
      return static_cast<int32_t>(PassesSum(weights_, uniform * total));
    }
  }
  // Without top-k nobody knows how many candidates will be kept: try some, then more.
  for (size_t count = limit == all ? 64 : limit;; count *= 16) {
    const std::vector<LogitCandidate> top = TopLogits(logits, std::min(count, limit));
    if (limit != all) {
      for (const LogitCandidate& c : top) total += ExpNonPositive((c.logit - top[0].logit) * scale);
    }
    const Kept kept = KeepLeading(top, total, scale, params_);
    if (!kept.complete && count < limit) continue;
    return top[PassesSum(kept.weights, uniform * kept.sum)].token;
  }
}

Result<int32_t> Sampler::Sample(std::span<const float> logits) {
  if (HasAdjustments()) {
    adjusted_.assign(logits.begin(), logits.end());
    Adjust(adjusted_);
    logits = adjusted_;
  }
  SACCADE_ASSIGN_OR_RETURN(const int32_t token, Choose(logits));
  Accept(token);
  return token;
}

Result<Logprobs> ComputeLogprobs(std::span<const float> logits, int32_t chosen, int top_n) {
  if (chosen < 0 || static_cast<size_t>(chosen) >= logits.size()) {
    return Internal("token {} is outside of {} logits", chosen, logits.size());
  }
  const std::optional<int32_t> best = ArgMax(logits);
  if (!best.has_value()) return NotFinite();
  const float max = logits[static_cast<size_t>(*best)];
  double total = 0;
  for (size_t begin = 0; begin < logits.size(); begin += 1024) {
    const auto part = logits.subspan(begin, std::min<size_t>(1024, logits.size() - begin));
    std::array<float, 1024> weights;
    total += SoftmaxWeights(part, max, 1, weights);
  }
  const double log_total = double{max} + std::log(total);
  Logprobs result;
  result.chosen = static_cast<float>(logits[static_cast<size_t>(chosen)] - log_total);
  for (const LogitCandidate& candidate : TopLogits(logits, static_cast<size_t>(std::max(top_n, 0)))) {
    result.top.emplace_back(candidate.token, static_cast<float>(candidate.logit - log_total));
  }
  return result;
}

}  // namespace saccade
