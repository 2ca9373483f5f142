#include "server/engine_backend.h"

#include <atomic>
#include <chrono>
#include <utility>

namespace saccade {
namespace {

// Owned, through the sink, by the engine itself; so it must not own the engine, whose last reference would
// then go on the engine's own thread.
class EngineChat final : public PreparedChat {
 public:
  EngineChat(const std::shared_ptr<Engine>& engine, std::shared_ptr<PreparedRequest> request)
      : engine_(engine), cost_(Engine::Cost(*request)), request_(std::move(request)) {}

  RequestUsage Cost() const override { return cost_; }

  Status Submit(EventSink sink) override {
    const auto engine = engine_.lock();
    if (!engine) return Unavailable("the engine has stopped");
    SACCADE_ASSIGN_OR_RETURN(const Engine::RequestId id,
                             engine->Submit(std::move(request_), std::move(sink)));
    id_ = id;
    submitted_ = true;
    return OkStatus();
  }

  void Cancel() override {
    const auto engine = engine_.lock();
    if (engine && submitted_) engine->Cancel(id_);
  }

 private:
  const std::weak_ptr<Engine> engine_;
  const RequestUsage cost_;
  std::shared_ptr<PreparedRequest> request_;  // until Submit
  std::atomic<Engine::RequestId> id_{0};
  std::atomic<bool> submitted_{false};
};

class EngineBackend final : public ChatBackend {
 public:
  explicit EngineBackend(std::shared_ptr<Engine> engine) : engine_(std::move(engine)) {
    const Checkpoint& checkpoint = engine_->checkpoint();
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    model_.id = checkpoint.name;
    model_.created = std::chrono::duration_cast<std::chrono::seconds>(now).count();
    model_.context_tokens = checkpoint.context_tokens;
    model_.pixel_limits = checkpoint.preprocessor.limits;
  }

  const ModelCard& model() const override { return model_; }

  Result<std::shared_ptr<PreparedChat>> Prepare(const ChatInput& input) override {
    SACCADE_ASSIGN_OR_RETURN(std::shared_ptr<PreparedRequest> request, engine_->Prepare(input));
    return std::shared_ptr<PreparedChat>(std::make_shared<EngineChat>(engine_, std::move(request)));
  }

  EngineStats Stats() const override { return engine_->Stats(); }

  std::string TokenBytes(int32_t token) const override {
    return std::string(engine_->checkpoint().tokenizer.TokenBytes(token));
  }

 private:
  const std::shared_ptr<Engine> engine_;
  ModelCard model_;
};

}  // namespace

std::shared_ptr<ChatBackend> MakeEngineBackend(std::shared_ptr<Engine> engine) {
  return std::make_shared<EngineBackend>(std::move(engine));
}

}  // namespace saccade
