// One completion on its way: takes the events of the backend and writes the answer, streamed or whole, with
// one or several choices.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/answer_format.h"
#include "server/answer_options.h"
#include "server/chat_backend.h"
#include "server/cost_model.h"
#include "server/exchange.h"
#include "server/pixel_boxes.h"
#include "server/running_answers.h"
#include "server/server_metrics.h"

namespace saccade {

// A request that passed all checks.
struct AnswerRequest {
  const AnswerFormat* format = nullptr;
  std::vector<ChatInput> prompts;          // each is answered `choices` times
  std::vector<std::string> picture_paths;  // where the pictures of the only prompt stand in the request
  bool stream = false, include_usage = false, include_progress = false, logprobs = false;
  bool pixel_boxes = false;  // of the pictures of the only prompt
  int choices = 1;
  bool batch = false;
  std::optional<double> timeout_seconds;  // since the request arrived
  std::string user;
};

struct AnswerSessionOptions {
  std::chrono::milliseconds heartbeat{10'000};  // a comment after this much silence of a stream
};

// Events are handled on the connection's thread, one at a time; Start and Stop may be called from others.
// Kept alive by the sinks that the backend holds.
class AnswerSession : public std::enable_shared_from_this<AnswerSession> {
 public:
  struct Services {
    std::shared_ptr<ChatBackend> backend;
    std::shared_ptr<RunningAnswers> running;
    std::shared_ptr<CostModel> costs;
    ServerMetrics& metrics;
  };

  // Prepares and submits on the calling thread, which may take as long as decoding the pictures does. Every
  // outcome is answered through `exchange`.
  static void Start(std::shared_ptr<Exchange> exchange, AnswerRequest request, const Services& services,
                    const AnswerSessionOptions& options);

  AnswerSession(std::shared_ptr<Exchange> exchange, AnswerRequest request, const Services& services,
                const AnswerSessionOptions& options);

 private:
  using Clock = std::chrono::steady_clock;

  struct Choice {
    std::string partial;  // bytes of a character that has not come completely
    std::string text;     // of an answer that is sent whole, or whose boxes are wanted
    std::vector<TokenLogprob> logprobs;
    int64_t characters = 0;  // that logprobs were reported for
    bool text_sent = false;
    std::optional<Clock::time_point> last_text;
    std::optional<FinishedEvent> finished;
  };

  Status Submit(const std::shared_ptr<ChatBackend>& backend);
  Status MeasurePictures(const ChatBackend& backend, const ChatInput& prompt);
  Status Prepare(const std::shared_ptr<ChatBackend>& backend);
  // Before queueing, once the cost is known.
  Status CheckDeadline();
  Status TimedOut() const;
  void Stop(GoneReason reason);
  // All choices are in the backend's queue, or none is.
  void Open();
  void Fail(const Status& status);

  void OnEvent(size_t index, Event event);
  void Handle(size_t index, const Event& event);
  void OnProgress(const ProgressEvent& progress);
  void OnText(size_t index, const TextEvent& piece);
  void OnFinished(size_t index, const FinishedEvent& finished);
  void OnFailed(const Status& status);

  void BeginStream();
  void WriteText(size_t index, const std::string& text, OrderedJson logprobs);
  OrderedJson Logprobs(Choice& choice, const std::vector<TokenLogprob>& logprobs) const;
  void SendWhole();
  void EndStream();
  void End();
  RequestUsage TotalUsage() const;
  RequestTimings LongestTimings() const;
  void CountText(Choice& choice);
  void CountFinished();

  const std::shared_ptr<Exchange> exchange_;
  // Weak: the backend owns the sinks that own the session, and must not be ended by it.
  const std::weak_ptr<ChatBackend> backend_;
  const std::shared_ptr<RunningAnswers> running_;
  const std::shared_ptr<CostModel> costs_;
  CostModel::Ticket ticket_;  // until the first token
  CostModel::Work work_;
  ServerMetrics& metrics_;
  const AnswerSessionOptions options_;
  AnswerRequest request_;  // its prompts are dropped after Submit
  const AnswerFormat& format_;
  ReplyHead head_;
  const std::string exchange_id_;
  std::vector<std::shared_ptr<PreparedChat>> prepared_;  // one per prompt
  BoxPictures box_pictures_;
  const Clock::time_point started_ = Clock::now();
  std::atomic<bool> server_stopping_{false}, deadline_passed_{false};
  std::optional<Clock::time_point> deadline_;

  bool open_ = false, stream_begun_ = false, ended_ = false, first_text_seen_ = false;
  std::vector<std::pair<size_t, Event>> early_;  // events that came before Open
  std::string last_progress_;
  std::vector<Choice> choices_;  // prompt * request.choices + choice
};

}  // namespace saccade
