// Helpers to run conversations of tests/golden through an engine.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/json.h"
#include "base/status_testing.h"
#include "engine/engine.h"

namespace saccade::testing {

inline std::filesystem::path GoldenFolder() { return std::filesystem::path(SACCADE_TEST_DATA) / "golden"; }

inline std::shared_ptr<const std::vector<std::byte>> ReadBytes(const std::filesystem::path& path) {
  Result<std::string> text = ReadFile(path, int64_t{1} << 30);
  EXPECT_TRUE(text.ok()) << path;
  const auto* data = reinterpret_cast<const std::byte*>(text->data());
  return std::make_shared<const std::vector<std::byte>>(data, data + text->size());
}

// One conversation of goldens.json with its pictures.
inline ChatInput GoldenChat(const std::string& checkpoint, const std::string& name) {
  const std::string text = ReadFile(GoldenFolder() / checkpoint / "goldens.json", 1 << 24).value();
  const OrderedJson entry = ParseOrderedJson(text).value()[name];
  ChatInput input;
  input.conversation = ParseConversation({{"messages", entry["messages"]}}).value();
  for (const auto& file : entry["images"]) {
    input.pictures.push_back({ReadBytes(GoldenFolder() / "images" / file.get<std::string>()), std::nullopt});
  }
  input.options.temperature = 0;
  return input;
}

inline ChatInput TextChat(const std::string& text) {
  ChatInput input;
  input.conversation = ParseConversation({{"messages", {{{"role", "user"}, {"content", text}}}}}).value();
  input.options.temperature = 0;
  return input;
}

// Everything one request reported. Wait() returns when it ended.
class Recorder {
 public:
  EventSink Sink() {
    return [this](Event event) {
      std::lock_guard lock(mutex_);
      if (const auto* text = std::get_if<TextEvent>(&event)) {
        text_ += text->text;
        tokens_.insert(tokens_.end(), text->tokens.begin(), text->tokens.end());
        logprobs_.insert(logprobs_.end(), text->logprobs.begin(), text->logprobs.end());
      }
      if (const auto* finished = std::get_if<FinishedEvent>(&event)) finished_ = *finished;
      if (const auto* failed = std::get_if<FailedEvent>(&event)) status_ = failed->status;
      if (const auto* progress = std::get_if<ProgressEvent>(&event)) progress_.push_back(*progress);
      if (std::holds_alternative<FinishedEvent>(event) || std::holds_alternative<FailedEvent>(event)) ++ends_;
      changed_.notify_all();
    };
  }
  void Wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ > 0; });
  }
  void WaitForTokens(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this, count] { return tokens_.size() >= count || ends_ > 0; });
  }
  const std::string& text() const { return text_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<TokenLogprob>& logprobs() const { return logprobs_; }
  const FinishedEvent& finished() const { return finished_; }
  const Status& status() const { return status_; }
  const std::vector<ProgressEvent>& progress() const { return progress_; }
  int ends() const { return ends_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string text_;
  std::vector<int32_t> tokens_;
  std::vector<TokenLogprob> logprobs_;
  FinishedEvent finished_;
  Status status_;
  std::vector<ProgressEvent> progress_;
  int ends_ = 0;
};

// A folder of tests/golden, or "demo" for the bundled model.
inline std::unique_ptr<Engine> StartModel(const std::string& name, EngineOptions options, WeightType weights,
                                          KvType kv) {
  ThreadPool pool(2);
  const std::filesystem::path folder =
      name == "demo" ? std::filesystem::path(SACCADE_TEST_DATA) / "../models/demo" : GoldenFolder() / name;
  Result<std::shared_ptr<const Checkpoint>> loaded = Checkpoint::Load(folder, {{weights, weights}}, pool);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  options.kv_type = kv;
  options.pin_threads = false;
  return Engine::Start(*loaded, options).value();
}

inline std::unique_ptr<Engine> StartTiny(const std::string& checkpoint, EngineOptions options = {},
                                         WeightType weights = WeightType::kF32, KvType kv = KvType::kF32) {
  if (options.kv_cache_tokens == 0) options.kv_cache_tokens = 8192;
  return StartModel(checkpoint, options, weights, kv);
}

// Prepares and submits; the recorder must outlive the request.
inline Engine::RequestId Submit(Engine& engine, const ChatInput& input, Recorder& recorder) {
  Result<std::shared_ptr<PreparedRequest>> request = engine.Prepare(input);
  EXPECT_TRUE(request.ok()) << request.status().ToString();
  return engine.Submit(*request, recorder.Sink()).value();
}

}  // namespace saccade::testing
