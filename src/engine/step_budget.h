// How much vision and prompt work goes into a step, so that running answers keep their pace. Pure logic: what
// was measured comes in, amounts come out.
#pragma once

#include <cstdint>

namespace saccade {

// What a step may spend beside its decode rows.
struct StepShares {
  double vision_ms = 0;        // 0: no picture is under way
  int64_t prefill_tokens = 0;  // at least one slice
};

// Thread-compatible.
class StepBudget {
 public:
  // `max_gap_ms`: the longest a step should take while answers are running, that is the pause between two of
  // their tokens.
  explicit StepBudget(double max_gap_ms) : max_gap_ms_(max_gap_ms) {}

  // What a text batch of `decode_rows` answers and `prefill_tokens` prompt tokens took.
  void Observe(int64_t decode_rows, int64_t prefill_tokens, double ms);

  // Pictures and prompts share the time evenly when both wait. Nothing falls below a least share, so that
  // they get on even where decoding alone takes longer than the gap.
  StepShares Shares(int64_t decode_rows, bool pictures, bool prompts) const;

  double decode_ms() const { return decode_ms_; }
  double prefill_ms_per_token() const { return prefill_ms_per_token_; }

 private:
  const double max_gap_ms_;
  double decode_ms_ = 0;             // of a step that only decodes; 0: not measured yet
  double prefill_ms_per_token_ = 0;  // the same
};

}  // namespace saccade
