// HTTP/1.1 over TCP: sockets, limits, timeouts, keep-alive, graceful stop. What is answered is the router's.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/router.h"

namespace saccade {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  int port = 8080;  // 0: one that is free, see port()
  int io_threads = 2;
  int worker_threads = 2;         // for routes with on_worker
  size_t max_queued_jobs = 256;   // requests that may wait for a worker; more get 503
  size_t max_connections = 4096;  // more are answered 503 and closed
  size_t max_header_bytes = size_t{32} << 10;
  // Bodies of all requests together, from their first byte until their answer is finished.
  size_t max_body_bytes_in_flight = size_t{512} << 20;
  std::chrono::milliseconds header_timeout{
      10'000};  // from the first byte (or the connect) to the end of the header
  std::chrono::milliseconds idle_timeout{60'000};  // between two requests of a connection
  // A body may take `body_grace`, plus the time its bytes need at `min_body_bytes_per_second`.
  std::chrono::milliseconds body_grace{30'000};
  size_t min_body_bytes_per_second = size_t{8} << 10;
  std::chrono::milliseconds write_timeout{30'000};  // without the client taking a single byte
  bool require_loopback = false;                    // refuse to listen where other machines could connect
  // Value of Access-Control-Allow-Origin for pages of other sites; empty: such pages are refused.
  std::string allow_origin;
};

// What a finished (or failed) request was, for the log and the counters. Never holds contents.
struct RequestRecord {
  std::string id, method, path, peer;
  std::string pattern;  // of the route; empty when none matched
  int status = 0;       // 499: the client had gone before the answer was complete
  double ms = 0;
  size_t body_bytes = 0, sent_bytes = 0;
  std::string key_name;  // of the API key, when there are keys
  Annotations annotations;
};
using RequestObserver = std::function<void(const RequestRecord&)>;

// Looks at the header of a request whose route is known, before its body is read. An answer refuses the
// request; otherwise it may fill in the caller and the lease. Runs on an I/O thread.
using RequestGate = std::function<std::optional<HttpResponse>(HttpRequest&, const Route&)>;

// Thread-safe.
class HttpServer {
 public:
  // Binds, listens and starts the threads. The error of a taken port or unknown host says what to do.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, Router router, RequestGate gate,
                                                   RequestObserver observer);
  ~HttpServer();  // Drain(0)

  int port() const;
  size_t open_connections() const;
  bool draining() const;

  // Stops accepting, lets running answers finish for at most `timeout`, then tells their handlers to stop,
  // sends what they still write for a moment, and closes. Returns when all threads have ended. Once; later
  // calls wait.
  void Drain(std::chrono::milliseconds timeout);
  // From another thread: makes a running Drain go on as if its time were up.
  void AbortDrain();

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace saccade
