// What all connections of one HTTP server share. Included by http_server.cc and connection.cc only.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <set>

#include "server/http_server.h"
#include "server/router.h"
#include "server/worker_pool.h"

namespace saccade {

class Connection;

// Thread-safe. Kept alive by the server and by every connection and exchange.
struct ServerCore {
  ServerCore(HttpServerOptions server_options, Router server_router, RequestGate server_gate,
             RequestObserver server_observer)
      : options(std::move(server_options)),
        router(std::move(server_router)),
        gate(std::move(server_gate)),
        observer(std::move(server_observer)),
        workers(options.worker_threads, options.max_queued_jobs) {}

  const HttpServerOptions options;
  const Router router;
  const RequestGate gate;
  const RequestObserver observer;

  boost::asio::io_context io;
  WorkerPool workers;

  // The stages of a stop; each only goes from false to true.
  std::atomic<bool> draining{false};  // no new request on any connection
  std::atomic<bool> aborting{false};  // handlers are told to stop
  std::atomic<bool> closing{false};   // sockets are closed whatever happens

  std::atomic<size_t> body_bytes{0};  // of all requests in flight

  std::mutex mutex;
  std::condition_variable changed;    // a connection ended
  std::set<Connection*> connections;  // guarded by mutex

  // Posts to the I/O threads unless the server has ended; then nobody would run it any more.
  template <class Executor>
  void Post(const Executor& executor, std::function<void()> function) {
    const std::lock_guard lock(post_mutex);
    if (!ended) boost::asio::post(executor, std::move(function));
  }
  void End() {
    const std::lock_guard lock(post_mutex);
    ended = true;
  }

 private:
  std::mutex post_mutex;
  bool ended = false;
};

}  // namespace saccade
