#include "engine/scheduler.h"

#include <algorithm>

namespace saccade {
namespace {

int64_t PagesFor(int64_t tokens, int64_t page_tokens) { return (tokens + page_tokens - 1) / page_tokens; }

bool IsRunning(Stage stage) { return stage != Stage::kWaiting; }

class Planner {
 public:
  Planner(std::span<const SequenceView> sequences, const SchedulerLimits& limits)
      : sequences_(sequences),
        limits_(limits),
        free_pages_(limits.free_pages),
        dropped_(sequences.size(), false) {}

  StepPlan Plan() {
    PlanDecode();
    PlanPrefill();
    if (plan_.preempt.empty()) PlanAdmission();
    return std::move(plan_);
  }

 private:
  // Makes room for `tokens` of sequence `index`, if need be by dropping the youngest running ones.
  bool Reserve(size_t index, int64_t tokens) {
    const int64_t missing = PagesFor(tokens, limits_.page_tokens) - sequences_[index].pages_held;
    while (missing > free_pages_) {
      const size_t victim = YoungestWithPages();
      if (victim <= index) return false;
      Drop(victim);
    }
    free_pages_ -= std::max<int64_t>(0, missing);
    return true;
  }

  size_t YoungestWithPages() const {
    for (size_t i = sequences_.size(); i-- > 0;) {
      if (IsRunning(sequences_[i].stage) && !dropped_[i] && sequences_[i].pages_held > 0) return i;
    }
    return 0;
  }

  void Drop(size_t index) {
    dropped_[index] = true;
    free_pages_ += sequences_[index].pages_held;
    plan_.preempt.push_back(index);
    std::erase(plan_.decode, index);
  }

  void PlanDecode() {
    for (size_t i = 0; i < sequences_.size(); ++i) {
      if (sequences_[i].stage != Stage::kDecode || dropped_[i]) continue;
      if (Reserve(i, sequences_[i].tokens)) {
        plan_.decode.push_back(i);
      } else {
        Drop(i);
      }
    }
  }

  void PlanPrefill() {
    int64_t budget = plan_.decode.empty() ? limits_.prefill_burst_tokens : limits_.prefill_slice_tokens;
    for (size_t i = 0; i < sequences_.size() && budget > 0; ++i) {
      const SequenceView& sequence = sequences_[i];
      if (sequence.stage != Stage::kPrefill || dropped_[i]) continue;
      const int64_t tokens = std::min(budget, sequence.tokens - sequence.computed);
      const int64_t missing = PagesFor(sequence.computed + tokens, limits_.page_tokens) - sequence.pages_held;
      if (missing > free_pages_) break;  // wait for pages rather than drop somebody who already answers
      free_pages_ -= std::max<int64_t>(0, missing);
      plan_.prefill.push_back({i, tokens});
      budget -= tokens;
    }
  }

  void PlanAdmission() {
    int64_t running = 0, promised = 0;
    for (size_t i = 0; i < sequences_.size(); ++i) {
      const SequenceView& sequence = sequences_[i];
      if (!IsRunning(sequence.stage)) continue;
      ++running;
      if (sequence.stage != Stage::kDecode) {
        promised +=
            std::max<int64_t>(0, PagesFor(sequence.tokens + 1, limits_.page_tokens) - sequence.pages_held);
      }
    }
    for (size_t i = 0; i < sequences_.size() && running < limits_.max_running; ++i) {
      const SequenceView& sequence = sequences_[i];
      if (sequence.stage != Stage::kWaiting) continue;
      const int64_t needed = PagesFor(sequence.tokens + limits_.page_tokens, limits_.page_tokens);
      const bool alone = running == 0;
      if (!alone && promised + needed > limits_.free_pages) break;
      promised += needed;
      ++running;
      plan_.admit.push_back(i);
    }
  }

  std::span<const SequenceView> sequences_;
  const SchedulerLimits& limits_;
  int64_t free_pages_;
  std::vector<bool> dropped_;
  StepPlan plan_;
};

}  // namespace

StepPlan PlanStep(std::span<const SequenceView> sequences, const SchedulerLimits& limits) {
  return Planner(sequences, limits).Plan();
}

}  // namespace saccade
