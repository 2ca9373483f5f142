#include "server/engine_backend.h"

#include <chrono>
#include <mutex>
#include <utility>

namespace saccade {
namespace {

// Owned, through the sink, by the engine itself; so it must not own the engine, whose last reference would
// then go on the engine's own thread.
class EngineChat final : public PreparedChat {
 public:
  EngineChat(const std::shared_ptr<Engine>& engine, std::shared_ptr<const PreparedRequest> request)
      : engine_(engine), cost_(Engine::Cost(*request)), request_(std::move(request)) {}

  RequestUsage Cost() const override { return cost_; }

  Status Submit(EventSink sink, int choice) override {
    const auto engine = engine_.lock();
    if (!engine) return Unavailable("the engine has stopped");
    SACCADE_ASSIGN_OR_RETURN(const Engine::RequestId id, engine->Submit(request_, std::move(sink), choice));
    const std::lock_guard lock(mutex_);
    ids_.push_back(id);
    return OkStatus();
  }

  void Cancel() override {
    const auto engine = engine_.lock();
    if (!engine) return;
    const std::lock_guard lock(mutex_);
    for (const Engine::RequestId id : ids_) engine->Cancel(id);
  }

 private:
  const std::weak_ptr<Engine> engine_;
  const RequestUsage cost_;
  const std::shared_ptr<const PreparedRequest> request_;
  std::mutex mutex_;
  std::vector<Engine::RequestId> ids_;
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

  Result<RequestEstimate> Estimate(const ChatInput& input) const override { return engine_->Estimate(input); }

  EngineStats Stats() const override { return engine_->Stats(); }

  std::vector<int32_t> Tokenize(std::string_view text, bool control_tokens) const override {
    std::vector<int32_t> tokens;
    const auto recognise = control_tokens ? Tokenizer::AddedTokens::kAll : Tokenizer::AddedTokens::kNone;
    engine_->checkpoint().tokenizer.Encode(text, recognise, tokens);
    return tokens;
  }

  Result<std::vector<int32_t>> TokenizeChat(const Conversation& conversation) const override {
    return EncodePrompt(engine_->checkpoint().tokenizer, RenderChat(conversation));
  }

  Result<std::string> Detokenize(const std::vector<int32_t>& tokens) const override {
    const Tokenizer& tokenizer = engine_->checkpoint().tokenizer;
    for (size_t i = 0; i < tokens.size(); ++i) {
      if (tokens[i] >= 0 && tokens[i] < tokenizer.vocab_size()) continue;
      return InvalidArgument("tokens[{}] is {}, the model's tokens are 0 to {}", i, tokens[i],
                             tokenizer.vocab_size() - 1)
          .WithParam("tokens");
    }
    return tokenizer.Decode(tokens, false);
  }

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
