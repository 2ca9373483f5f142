#include "engine/step_budget.h"

#include <algorithm>

namespace saccade {
namespace {

// Nobody waits for a token: long enough to lose nothing, short enough that a cancelled request leaves soon.
constexpr double kIdleMs = 500;
// Of the gap, whatever decoding takes.
constexpr double kLeastShare = 0.25;
// Fewer prompt tokens than this read the weights for little.
constexpr int64_t kFewestTokens = 16;
// Before anything was measured.
constexpr int64_t kFirstTokens = 64;
// Batches with fewer prompt tokens say little about the time of one.
constexpr int64_t kTellingTokens = 8;
constexpr double kNewShare = 0.3;

void Average(double ms, double& average) {
  average = average == 0 ? ms : average + kNewShare * (ms - average);
}

}  // namespace

void StepBudget::Observe(int64_t decode_rows, int64_t prefill_tokens, double ms) {
  if (prefill_tokens == 0) {
    Average(ms, decode_ms_);
  } else if (prefill_tokens >= kTellingTokens) {
    const double decode = decode_rows > 0 ? std::min(decode_ms_, ms / 2) : 0;
    Average((ms - decode) / static_cast<double>(prefill_tokens), prefill_ms_per_token_);
  }
}

StepShares StepBudget::Shares(int64_t decode_rows, bool pictures, bool prompts) const {
  const double free_ms =
      decode_rows > 0 ? std::max(max_gap_ms_ - decode_ms_, kLeastShare * max_gap_ms_) : kIdleMs;
  const double share = pictures && prompts ? free_ms / 2 : free_ms;
  StepShares shares;
  if (pictures) shares.vision_ms = share;
  shares.prefill_tokens =
      prefill_ms_per_token_ > 0 ? static_cast<int64_t>(share / prefill_ms_per_token_) : kFirstTokens;
  shares.prefill_tokens = std::max(kFewestTokens, shares.prefill_tokens / kFewestTokens * kFewestTokens);
  return shares;
}

}  // namespace saccade
