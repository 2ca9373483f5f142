#include "engine/scheduler.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace saccade {
namespace {

int64_t PagesFor(int64_t tokens, int64_t page_tokens) { return (tokens + page_tokens - 1) / page_tokens; }

bool IsRunning(Stage stage) { return stage != Stage::kWaiting; }

// The indices in order of service, see PlanStep.
std::vector<size_t> OrderOfService(std::span<const SequenceView> sequences) {
  std::vector<int64_t> turns(sequences.size(), 0);
  std::map<std::pair<bool, uint64_t>, int64_t> next_turn;
  for (size_t i = 0; i < sequences.size(); ++i) {
    if (sequences[i].user != 0) turns[i] = next_turn[{sequences[i].batch, sequences[i].user}]++;
  }
  std::vector<size_t> order(sequences.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(sequences[a].batch, turns[a]) < std::pair(sequences[b].batch, turns[b]);
  });
  return order;
}

class Planner {
 public:
  Planner(std::span<const SequenceView> sequences, const SchedulerLimits& limits)
      : sequences_(sequences),
        limits_(limits),
        order_(OrderOfService(sequences)),
        free_pages_(limits.free_pages),
        holders_(limits.page_holders.begin(), limits.page_holders.end()),
        dropped_(sequences.size(), false) {}

  StepPlan Plan() {
    MakePlaceForInteractive();
    PlanDecode();
    PlanPrefill();
    if (plan_.preempt.empty()) PlanAdmission();
    return std::move(plan_);
  }

 private:
  // Makes room for `tokens` of sequence `index`, if need be by dropping the last running ones.
  bool Reserve(size_t index, int64_t tokens) {
    const int64_t missing = PagesFor(tokens, limits_.page_tokens) - sequences_[index].pages_held;
    while (missing > free_pages_) {
      const size_t victim = LastWithPages();
      if (victim == index) return false;
      Drop(victim);
    }
    free_pages_ -= std::max<int64_t>(0, missing);
    return true;
  }

  // Never called without a running sequence that holds pages: the one that decodes is one.
  size_t LastWithPages() const {
    for (size_t i = order_.size(); i-- > 0;) {
      const size_t index = order_[i];
      if (IsRunning(sequences_[index].stage) && !dropped_[index] && sequences_[index].pages_held > 0)
        return index;
    }
    return 0;
  }

  void Drop(size_t index) {
    dropped_[index] = true;
    free_pages_ += GiveBack(sequences_[index]);
    plan_.preempt.push_back(index);
    std::erase(plan_.decode, index);
  }

  // The pages that become free when this sequence lets go of its own.
  int64_t GiveBack(const SequenceView& sequence) {
    if (sequence.pages.empty()) return sequence.pages_held;
    return std::count_if(sequence.pages.begin(), sequence.pages.end(),
                         [this](int32_t page) { return --holders_[static_cast<size_t>(page)] == 0; });
  }

  // All places taken, an interactive request waits, somebody of the batch class runs: that one steps back.
  // One whose pictures are being encoded stays, its features would be lost half-way.
  void MakePlaceForInteractive() {
    int64_t running = 0;
    bool wanted = false;
    std::optional<size_t> last_batch;
    for (size_t index : order_) {
      const SequenceView& sequence = sequences_[index];
      wanted = wanted || (!IsRunning(sequence.stage) && !sequence.batch);
      running += IsRunning(sequence.stage) ? 1 : 0;
      const bool can_step_back = sequence.stage == Stage::kDecode || sequence.stage == Stage::kPrefill;
      if (sequence.batch && can_step_back) last_batch = index;
    }
    if (wanted && running >= limits_.max_running && last_batch) Drop(*last_batch);
  }

  void PlanDecode() {
    for (size_t i : order_) {
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
    for (size_t i : order_) {
      if (budget <= 0) break;
      const SequenceView& sequence = sequences_[i];
      if (sequence.stage != Stage::kPrefill || sequence.held || dropped_[i]) continue;
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
    for (const SequenceView& sequence : sequences_) {
      if (!IsRunning(sequence.stage)) continue;
      ++running;
      if (sequence.stage != Stage::kDecode) {
        promised +=
            std::max<int64_t>(0, PagesFor(sequence.tokens + 1, limits_.page_tokens) - sequence.pages_held);
      }
    }
    for (size_t i : order_) {
      if (running >= limits_.max_running) break;
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
  const std::vector<size_t> order_;
  int64_t free_pages_;
  std::vector<int32_t> holders_;
  std::vector<bool> dropped_;
  StepPlan plan_;
};

}  // namespace

StepPlan PlanStep(std::span<const SequenceView> sequences, const SchedulerLimits& limits) {
  return Planner(sequences, limits).Plan();
}

}  // namespace saccade
