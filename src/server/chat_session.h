// One chat completion on its way: takes the events of the backend and writes the answer, streamed or whole.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "server/chat_backend.h"
#include "server/chat_reply.h"
#include "server/chat_request.h"
#include "server/exchange.h"
#include "server/server_metrics.h"

namespace saccade {

struct ChatSessionOptions {
  std::chrono::milliseconds heartbeat{10'000};  // a comment after this much silence of a stream
};

// Events are handled on the connection's thread, one at a time; Start and Stop may be called from others.
// Kept alive by the sink that the backend holds.
class ChatSession : public std::enable_shared_from_this<ChatSession> {
 public:
  // Prepares and submits on the calling thread, which may take as long as decoding the pictures does. Every
  // outcome is answered through `exchange`.
  static void Start(std::shared_ptr<Exchange> exchange, ChatRequest request,
                    const std::shared_ptr<ChatBackend>& backend, ServerMetrics& metrics,
                    const ChatSessionOptions& options);

  ChatSession(std::shared_ptr<Exchange> exchange, ChatRequest request,
              const std::shared_ptr<ChatBackend>& backend, ServerMetrics& metrics,
              const ChatSessionOptions& options);

 private:
  using Clock = std::chrono::steady_clock;

  Status Submit(ChatBackend& backend);
  void Stop(GoneReason reason);

  void OnEvent(const Event& event);
  void OnProgress(const ProgressEvent& progress);
  void OnText(const TextEvent& piece);
  void OnFinished(const FinishedEvent& finished);
  void OnFailed(const Status& status);

  void BeginStream();
  void WriteText(const std::string& text, OrderedJson logprobs);
  void CountText();
  void CountFinished(const FinishedEvent& finished);

  const std::shared_ptr<Exchange> exchange_;
  // Weak: the backend owns the sink that owns the session, and must not be ended by it.
  const std::weak_ptr<ChatBackend> backend_;
  ServerMetrics& metrics_;
  const ChatSessionOptions options_;
  ChatRequest request_;  // its input is dropped after Submit
  ReplyHead head_;
  std::shared_ptr<PreparedChat> prepared_;
  const Clock::time_point started_ = Clock::now();
  std::atomic<bool> server_stopping_{false};

  bool stream_begun_ = false, role_sent_ = false, ended_ = false;
  std::string last_progress_;
  std::string partial_;  // bytes of a character that has not come completely
  std::string text_;     // of an answer that is sent whole
  OrderedJson logprobs_;
  std::optional<Clock::time_point> last_text_;
};

}  // namespace saccade
