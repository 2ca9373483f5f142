// Chooses the next token from the logits of one sequence.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/status.h"

namespace saccade {

struct SamplingParams {
  float temperature = 1;         // 0: always the most likely token
  int top_k = 0;                 // only the k most likely tokens; 0 or -1: all
  float top_p = 1;               // only the most likely tokens that together reach this probability
  float min_p = 0;               // only tokens at least this likely relative to the most likely one
  float repetition_penalty = 1;  // > 1 disfavours tokens of the prompt and of the answer so far
  float presence_penalty = 0;    // subtracted once from tokens of the answer so far
  float frequency_penalty = 0;   // subtracted for every occurrence in the answer so far
  uint64_t seed = 0;             // the same seed and logits give the same tokens, on every machine
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // token id, what is added to its logit

  // kInvalidArgument with Status::param() set to the field that is out of range.
  Status Validate() const;
};

// Thread-compatible, one per sequence. Steps follow the reference (transformers): logit bias, repetition,
// presence and frequency penalties, temperature, top-k, top-p, min-p. Equal logits rank by id, lowest first.
// What other sequences of a batch do has no influence.
class Sampler {
 public:
  // `params` must be valid. `prompt` counts for the repetition penalty.
  Sampler(SamplingParams params, std::span<const int32_t> prompt);

  // The next token; it counts for the penalties from now on. kInternal when a logit is NaN or infinite:
  // broken weights must end the request and never become text.
  Result<int32_t> Sample(std::span<const float> logits);

  // Counts a token that was decided elsewhere (a forced or restored one) as part of the answer. It takes up
  // no random number.
  void Accept(int32_t token);

  const SamplingParams& params() const { return params_; }

 private:
  bool HasAdjustments() const;
  void Adjust(std::vector<float>& logits) const;
  Result<int32_t> Choose(std::span<const float> logits);
  double NextUniform();

  SamplingParams params_;
  std::vector<int32_t> seen_;                       // distinct tokens of prompt and answer, if penalised
  std::unordered_map<int32_t, int> answer_counts_;  // 0 for tokens of the prompt alone
  uint64_t drawn_ = 0;                              // random numbers used so far
  std::vector<float> adjusted_, weights_;           // scratch, one entry per token
};

// Log probabilities under the unmodified distribution, as OpenAI's "logprobs" reports them.
struct Logprobs {
  float chosen = 0;
  std::vector<std::pair<int32_t, float>> top;  // most likely first
};
// `chosen` must be an id of `logits`; `top_n` may be 0. kInternal for NaN or infinite logits.
Result<Logprobs> ComputeLogprobs(std::span<const float> logits, int32_t chosen, int top_n);

}  // namespace saccade
