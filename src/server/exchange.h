// One request and its answer, shared by the connection that owns the socket and the handler that makes the
// answer on some other thread. Knows nothing of sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "server/http.h"

namespace saccade {

enum class GoneReason : uint8_t {
  kClientGone,      // the client closed the connection; nothing that is written arrives
  kServerStopping,  // the time limit of a graceful stop has passed; a last message still arrives
  kDeadlinePassed,  // see SetDeadline; a last message still arrives
};

// Numbers and names for the log line of a request; never contents.
using AnnotationValue = std::variant<std::string, int64_t, double>;
using Annotations = std::vector<std::pair<std::string, AnnotationValue>>;

// The connection's side. Thread-safe.
class ExchangeState {
 public:
  // `wake` makes the connection look at Take() again; `post` runs a function on the connection's thread. Both
  // may be called from any thread.
  ExchangeState(HttpRequest request, std::function<void()> wake,
                std::function<void(std::function<void()>)> post);

  struct Output {
    std::unique_ptr<HttpResponse> head;  // set once, when the answer begins
    bool streaming = false;              // chunks follow; belongs to `head`
    std::vector<std::string> chunks;
    bool finished = false;
    std::string_view heartbeat;  // to be written after `heartbeat_interval` of silence; empty: none
    std::chrono::milliseconds heartbeat_interval{0};
    std::optional<std::chrono::steady_clock::time_point> deadline;
  };
  // Moves out what the handler has written since the last call.
  Output Take();

  // Tells the handler, on the calling thread, that nobody waits for the rest. Once; later calls do nothing.
  void MarkGone(GoneReason reason);

  HttpRequest& request() { return request_; }
  Annotations TakeAnnotations();

 private:
  friend class Exchange;

  HttpRequest request_;
  const std::function<void()> wake_;
  const std::function<void(std::function<void()>)> post_;

  std::mutex mutex_;
  Output output_;
  bool begun_ = false, finished_ = false, gone_ = false;
  GoneReason gone_reason_ = GoneReason::kClientGone;
  std::function<void(GoneReason)> on_gone_;
  Annotations annotations_;
};

// The handler's side: either Send once, or StartStream, Write..., EndStream. All members are thread-safe and
// return at once. A handler that lets go of its Exchange without an answer sends a 500, or cuts the stream
// short.
class Exchange {
 public:
  explicit Exchange(std::shared_ptr<ExchangeState> state) : state_(std::move(state)) {}
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  // Belongs to the handler; the connection does not touch it before the answer is finished.
  HttpRequest& request() { return state_->request(); }

  void Send(HttpResponse response);

  struct Heartbeat {
    std::string_view bytes;  // lives as long as the process
    std::chrono::milliseconds interval{0};
  };
  void StartStream(HttpResponse head, Heartbeat heartbeat);
  void Write(std::string bytes);
  void EndStream();

  // When the answer is to be finished; if it is not, the handler is told that it is gone.
  void SetDeadline(std::chrono::steady_clock::time_point deadline);

  // `callback` runs on the connection's thread when the client has gone or the server stops; at once, on the
  // calling thread, when that has happened already.
  void OnGone(std::function<void(GoneReason)> callback);
  bool gone() const;

  // Runs `function` on the connection's thread. Functions run one at a time and in order, also after the
  // client has gone, but not after the server has stopped.
  void Post(std::function<void()> function) { state_->post_(std::move(function)); }

  // A key and value for the log line of this request.
  void Annotate(std::string key, AnnotationValue value);

 private:
  std::shared_ptr<ExchangeState> state_;
};

}  // namespace saccade
