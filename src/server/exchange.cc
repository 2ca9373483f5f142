#include "server/exchange.h"

#include "base/check.h"
#include "server/error_reply.h"

namespace saccade {

ExchangeState::ExchangeState(HttpRequest request, std::function<void()> wake,
                             std::function<void(std::function<void()>)> post)
    : request_(std::move(request)), wake_(std::move(wake)), post_(std::move(post)) {}

ExchangeState::Output ExchangeState::Take() {
  const std::lock_guard lock(mutex_);
  Output taken = std::move(output_);
  output_ = {};
  output_.heartbeat = taken.heartbeat;
  output_.heartbeat_interval = taken.heartbeat_interval;
  output_.deadline = taken.deadline;
  return taken;
}

void ExchangeState::MarkGone(GoneReason reason) {
  std::function<void(GoneReason)> callback;
  {
    const std::lock_guard lock(mutex_);
    if (gone_) return;
    gone_ = true;
    gone_reason_ = reason;
    callback = std::move(on_gone_);
    on_gone_ = nullptr;
  }
  if (callback) callback(reason);
}

Annotations ExchangeState::TakeAnnotations() {
  const std::lock_guard lock(mutex_);
  return std::move(annotations_);
}

Exchange::~Exchange() {
  bool begun = false;
  {
    const std::lock_guard lock(state_->mutex_);
    if (state_->finished_) return;
    begun = state_->begun_;
  }
  if (begun) {
    EndStream();
  } else {
    Send(ErrorReply(Internal("the request was dropped without an answer")));
  }
}

void Exchange::Send(HttpResponse response) {
  {
    const std::lock_guard lock(state_->mutex_);
    SACCADE_DCHECK(!state_->begun_);
    if (state_->begun_) return;
    state_->begun_ = state_->finished_ = true;
    state_->on_gone_ = nullptr;
    state_->output_.head = std::make_unique<HttpResponse>(std::move(response));
    state_->output_.finished = true;
  }
  state_->wake_();
}

void Exchange::StartStream(HttpResponse head, Heartbeat heartbeat) {
  {
    const std::lock_guard lock(state_->mutex_);
    SACCADE_DCHECK(!state_->begun_);
    if (state_->begun_) return;
    state_->begun_ = true;
    state_->output_.head = std::make_unique<HttpResponse>(std::move(head));
    state_->output_.streaming = true;
    state_->output_.heartbeat = heartbeat.bytes;
    state_->output_.heartbeat_interval = heartbeat.interval;
  }
  state_->wake_();
}

void Exchange::Write(std::string bytes) {
  {
    const std::lock_guard lock(state_->mutex_);
    SACCADE_DCHECK(state_->begun_);
    if (state_->finished_ || bytes.empty()) return;
    const bool lost = state_->gone_ && state_->gone_reason_ == GoneReason::kClientGone;
    if (lost) return;
    state_->output_.chunks.push_back(std::move(bytes));
  }
  state_->wake_();
}

void Exchange::EndStream() {
  {
    const std::lock_guard lock(state_->mutex_);
    if (state_->finished_) return;
    state_->finished_ = true;
    state_->on_gone_ = nullptr;
    state_->output_.finished = true;
  }
  state_->wake_();
}

void Exchange::SetDeadline(std::chrono::steady_clock::time_point deadline) {
  {
    const std::lock_guard lock(state_->mutex_);
    state_->output_.deadline = deadline;
  }
  state_->wake_();
}

void Exchange::OnGone(std::function<void(GoneReason)> callback) {
  GoneReason reason;
  {
    const std::lock_guard lock(state_->mutex_);
    if (!state_->gone_) {
      if (!state_->finished_) state_->on_gone_ = std::move(callback);
      return;
    }
    reason = state_->gone_reason_;
  }
  callback(reason);
}

bool Exchange::gone() const {
  const std::lock_guard lock(state_->mutex_);
  return state_->gone_;
}

void Exchange::Annotate(std::string key, AnnotationValue value) {
  const std::lock_guard lock(state_->mutex_);
  state_->annotations_.emplace_back(std::move(key), std::move(value));
}

}  // namespace saccade
