#include "server/cost_model.h"

#include <algorithm>
#include <cmath>

namespace saccade {
namespace {

// Fewer tokens say more about the overhead of a step than about their own cost.
constexpr int64_t kLeastPromptTokens = 16, kLeastAnswerTokens = 4;
constexpr double kMaxRetrySeconds = 60;

}  // namespace

void CostModel::Observe(const RequestUsage& usage, const RequestTimings& timings) {
  const std::lock_guard lock(state_->mutex);
  const int64_t computed = usage.prompt_tokens - usage.cached_tokens;
  if (computed >= kLeastPromptTokens) {
    prefill_per_token_.Add(timings.prefill / 1000 / static_cast<double>(computed));
    known_ = true;
  }
  if (usage.image_tokens > 0 && timings.vision > 0) {
    vision_per_token_.Add(timings.vision / 1000 / static_cast<double>(usage.image_tokens));
  }
  if (usage.completion_tokens >= kLeastAnswerTokens) {
    decode_per_token_.Add(timings.decode / 1000 / static_cast<double>(usage.completion_tokens));
  }
  answer_tokens_.Add(static_cast<double>(usage.completion_tokens));
}

CostModel::Seconds CostModel::PredictLocked(const Work& work) const {
  Seconds seconds;
  seconds.wait = std::max(0.0, state_->backlog_seconds);
  seconds.vision = vision_per_token_.value() * static_cast<double>(work.image_tokens);
  seconds.prefill = prefill_per_token_.value() * static_cast<double>(work.prompt_tokens);
  seconds.decode = decode_per_token_.value() *
                   std::min(static_cast<double>(work.answer_tokens), std::max(1.0, answer_tokens_.value()));
  return seconds;
}

std::optional<CostModel::Seconds> CostModel::Predict(const Work& work) const {
  const std::lock_guard lock(state_->mutex);
  if (!known_) return std::nullopt;
  return PredictLocked(work);
}

CostModel::Ticket CostModel::Enter(const Work& work) {
  const std::lock_guard lock(state_->mutex);
  const Seconds own = PredictLocked(work);
  const double seconds = own.vision + own.prefill;
  state_->backlog_seconds += seconds;
  return Ticket(state_.get(), [state = state_, seconds](const void*) {
    const std::lock_guard inner(state->mutex);
    state->backlog_seconds -= seconds;
  });
}

int CostModel::RetryAfterSeconds() const {
  const std::lock_guard lock(state_->mutex);
  return static_cast<int>(std::clamp(std::ceil(state_->backlog_seconds), 1.0, kMaxRetrySeconds));
}

}  // namespace saccade
