// A backend that does what a test tells it to: every request runs a script on a thread of its own. Tests
// only.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/chat_backend.h"

namespace saccade::testing {

// What a script sees of its request.
class FakeRun {
 public:
  explicit FakeRun(EventSink sink, int choice = 0) : sink_(std::move(sink)), choice_(choice) {}

  int choice() const { return choice_; }

  void Emit(Event event) { sink_(std::move(event)); }
  void Progress(ProgressEvent::Stage stage, int64_t done, int64_t total) {
    Emit(ProgressEvent{stage, done, total});
  }
  void Text(std::string text) {
    TextEvent event;
    event.text = std::move(text);
    Emit(std::move(event));
    ++tokens_;
  }
  void Finish(FinishReason reason = FinishReason::kStop) {
    FinishedEvent event;
    event.reason = reason;
    event.usage = {
        .prompt_tokens = 210, .image_tokens = 196, .cached_tokens = 64, .completion_tokens = tokens_};
    event.timings.first_token = 812.5;
    event.timings.decode = 1500;
    Emit(std::move(event));
  }
  void Fail(Status status) { Emit(FailedEvent{std::move(status)}); }

  bool cancelled() {
    const std::lock_guard lock(mutex_);
    return cancelled_;
  }
  // False when the time passed without a Cancel.
  bool WaitForCancel(std::chrono::milliseconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return cancelled_; });
  }
  void Cancel() {
    {
      const std::lock_guard lock(mutex_);
      cancelled_ = true;
    }
    changed_.notify_all();
  }

 private:
  const EventSink sink_;
  const int choice_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  int64_t tokens_ = 0;
};

class FakeBackend final : public ChatBackend {
 public:
  using Script = std::function<void(FakeRun&)>;

  explicit FakeBackend(Script script = nullptr) : script_(std::move(script)) {
    card_.id = "fake-model";
    card_.created = 1'700'000'000;
    card_.context_tokens = 4096;
    card_.pixel_limits = {65536, 16777216};
  }
  ~FakeBackend() override {
    for (std::thread& thread : threads_) thread.join();
  }

  const ModelCard& model() const override { return card_; }

  Result<std::shared_ptr<PreparedChat>> Prepare(const ChatInput& input) override {
    SACCADE_RETURN_IF_ERROR(on_prepare ? on_prepare(input) : OkStatus());
    const std::lock_guard lock(mutex_);
    last_input_ = input;
    return std::shared_ptr<PreparedChat>(std::make_shared<Chat>(*this));
  }
  EngineStats Stats() const override {
    const std::lock_guard lock(mutex_);
    EngineStats stats;
    stats.running = running_;
    stats.requests_finished = finished_;
    stats.waiting = waiting;
    stats.max_waiting = max_waiting;
    return stats;
  }
  Result<RequestEstimate> Estimate(const ChatInput& input) const override {
    SACCADE_RETURN_IF_ERROR(on_prepare ? on_prepare(input) : OkStatus());
    RequestEstimate estimate;
    estimate.prompt_tokens = 210;
    estimate.image_tokens = 196;
    estimate.max_tokens = input.options.max_tokens.value_or(100);
    estimate.context_tokens = card_.context_tokens;
    estimate.kv_bytes = 1 << 20;
    estimate.picture_bytes = 1 << 21;
    for (size_t i = 0; i < input.pictures.size(); ++i)
      estimate.pictures.push_back({{640, 480}, {448, 448}, 196});
    return estimate;
  }
  // A token per byte.
  std::vector<int32_t> Tokenize(std::string_view text, bool control_tokens) const override {
    std::vector<int32_t> tokens(text.begin(), text.end());
    if (control_tokens) tokens.push_back(1000);
    return tokens;
  }
  Result<std::vector<int32_t>> TokenizeChat(const Conversation& conversation) const override {
    return std::vector<int32_t>(conversation.messages.size(), 5);
  }
  Result<std::string> Detokenize(const std::vector<int32_t>& tokens) const override {
    return std::string(tokens.begin(), tokens.end());
  }
  std::string TokenBytes(int32_t token) const override {
    return token == 7 ? "\xE4\xBD" : "tok" + std::to_string(token);
  }

  ChatInput last_input() const {
    const std::lock_guard lock(mutex_);
    return last_input_;
  }
  int64_t cancels() const {
    const std::lock_guard lock(mutex_);
    return cancels_;
  }

  // Set before the server runs.
  std::function<Status(const ChatInput&)> on_prepare;
  std::function<Status()> on_submit;
  std::atomic<int64_t> waiting{0}, max_waiting{0};  // what Stats reports

 private:
  class Chat final : public PreparedChat {
   public:
    explicit Chat(FakeBackend& backend) : backend_(backend) {}
    RequestUsage Cost() const override { return {.prompt_tokens = 210, .image_tokens = 196}; }
    Status Submit(EventSink sink, int choice) override {
      SACCADE_RETURN_IF_ERROR(backend_.on_submit ? backend_.on_submit() : OkStatus());
      auto run = std::make_shared<FakeRun>(std::move(sink), choice);
      const std::lock_guard lock(mutex_);
      runs_.push_back(run);
      backend_.Launch(std::move(run));
      return OkStatus();
    }
    void Cancel() override {
      const std::lock_guard lock(mutex_);
      for (const auto& weak : runs_) {
        const auto run = weak.lock();
        if (!run) continue;
        run->Cancel();
        const std::lock_guard backend_lock(backend_.mutex_);
        ++backend_.cancels_;
      }
    }

   private:
    FakeBackend& backend_;
    std::mutex mutex_;
    std::vector<std::weak_ptr<FakeRun>> runs_;  // weak: a run holds the sink, and the sink what holds this
  };

  void Launch(std::shared_ptr<FakeRun> run) {
    const std::lock_guard lock(mutex_);
    ++running_;
    threads_.emplace_back([this, run = std::move(run)]() mutable {
      script_(*run);
      run.reset();  // and with it the sink
      const std::lock_guard lock(mutex_);
      --running_;
      ++finished_;
    });
  }

  const Script script_;
  ModelCard card_;
  mutable std::mutex mutex_;
  std::vector<std::thread> threads_;
  ChatInput last_input_;
  int64_t running_ = 0, finished_ = 0, cancels_ = 0;
};

}  // namespace saccade::testing
