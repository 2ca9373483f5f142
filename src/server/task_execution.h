// One attempt at a task: its body becomes a request of the batch class, the events become a result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/answer_format.h"
#include "server/chat_backend.h"
#include "server/chat_request.h"

namespace saccade {

// What is known of a running task. `stage`: "preparing", "queued", "encoding", "prefill", "answering".
struct TaskLive {
  int64_t claim = 0;  // which run of the task this is
  std::string stage = "preparing";
  int64_t done = 0, total = 0;  // of the stage; total 0: not known
  std::string text;             // of the first choice, so far
};

// Whose turn a task uses, and with whom it shares computed prompts and pictures.
struct TaskOrigin {
  std::string user, cache_scope;
};

// Thread-safe. Kept alive by the sinks that the backend holds.
class TaskExecution : public std::enable_shared_from_this<TaskExecution> {
 public:
  // Reads and prepares a chat request on the calling thread. Errors name the part of the body at fault.
  static Result<std::shared_ptr<TaskExecution>> Prepare(const std::shared_ptr<ChatBackend>& backend,
                                                        std::string_view body, const TaskOrigin& origin,
                                                        size_t max_pictures);

  // Queues all choices. After success `on_end` is called once, on a thread of the backend, when the last of
  // them has ended; after an error, which may be called again, it is not.
  Status Submit(std::function<void()> on_end);
  void Cancel();

  void FillLive(TaskLive& live) const;
  // After the end: the chat completion as JSON, or why there is none.
  Result<std::string> Outcome() const;

 private:
  struct Choice {
    std::string text;
    std::vector<TokenLogprob> logprobs;
    std::optional<FinishedEvent> finished;
  };

  TaskExecution(const std::shared_ptr<ChatBackend>& backend, ChatRequest request);
  void OnEvent(size_t index, const Event& event);
  OrderedJson Logprobs(const Choice& choice) const;

  const std::weak_ptr<ChatBackend> backend_;  // weak: the backend owns the sinks
  const std::string model_;
  const bool logprobs_;
  std::shared_ptr<PreparedChat> prepared_;
  std::function<void()> on_end_;

  mutable std::mutex mutex_;
  std::string stage_ = "queued";
  int64_t done_ = 0, total_ = 0;
  std::vector<Choice> choices_;
  size_t open_ = 0;  // choices that have not ended
  Status failed_;
};

}  // namespace saccade
