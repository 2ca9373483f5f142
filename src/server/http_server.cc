#include "server/http_server.h"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <thread>

#include "base/log.h"
#include "server/connection.h"
#include "server/error_reply.h"
#include "server/server_core.h"

// GCC 12 at -O1 takes the paired allocation functions of Asio's coroutine frames for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace saccade {
namespace {

namespace net = boost::asio;
using boost::system::error_code;
using net::ip::tcp;

// After handlers were told to stop they may still write one last message.
constexpr std::chrono::milliseconds kLastWordsTime{2000};
// Pause of the accept loop when the process is out of file descriptors.
constexpr std::chrono::milliseconds kAcceptPause{50};

Result<tcp::endpoint> Resolve(net::io_context& io, const std::string& host, int port) {
  if (port < 0 || port > 65535) return InvalidArgument("port {} is not between 0 and 65535", port);
  error_code error;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(host, fmt::format("{}", port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    return InvalidArgument("cannot listen on host \"{}\": {}", host, error.message());
  }
  // "localhost" often stands for both; what people type next is 127.0.0.1.
  for (const auto& entry : found) {
    if (entry.endpoint().address().is_v4()) return entry.endpoint();
  }
  return found.begin()->endpoint();
}

Status Listen(tcp::acceptor& acceptor, const tcp::endpoint& endpoint, const std::string& host) {
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(net::socket_base::max_listen_connections, error);
  if (!error) return OkStatus();
  if (error == net::error::address_in_use) {
    return Unavailable("port {} on {} is taken by another program; choose another with --port",
                       endpoint.port(), host);
  }
  return Unavailable("cannot listen on {} port {}: {}", host, endpoint.port(), error.message());
}

}  // namespace

class HttpServer::Impl {
 public:
  explicit Impl(std::shared_ptr<ServerCore> core)
      : core_(std::move(core)),
        strand_(net::make_strand(core_->io)),
        acceptor_(strand_),
        work_(core_->io.get_executor()) {}

  ~Impl() { Drain(std::chrono::milliseconds(0)); }

  Status Start() {
    const HttpServerOptions& options = core_->options;
    SACCADE_ASSIGN_OR_RETURN(const tcp::endpoint endpoint, Resolve(core_->io, options.host, options.port));
    if (options.require_loopback && !endpoint.address().is_loopback()) {
      return InvalidArgument(
          "listening on {} would let other machines in, and there are no API keys: give --api-keys FILE, or "
          "--insecure-bind when something else protects the port",
          options.host);
    }
    SACCADE_RETURN_IF_ERROR(Listen(acceptor_, endpoint, options.host));
    error_code ignored;
    port_ = acceptor_.local_endpoint(ignored).port();
    net::co_spawn(strand_, AcceptLoop(), net::detached);
    for (int i = 0; i < options.io_threads; ++i) threads_.emplace_back([this] { RunIo(); });
    return OkStatus();
  }

  void Drain(std::chrono::milliseconds timeout) {
    const std::lock_guard once(drain_mutex_);
    if (drained_) return;
    drained_ = true;
    core_->draining = true;
    if (!threads_.empty()) {
      std::promise<void> closed;
      net::post(strand_, [this, &closed] {
        error_code ignored;
        acceptor_.close(ignored);
        closed.set_value();
      });
      closed.get_future().wait();
    }
    WakeAll();
    WaitForConnections(timeout, true);
    core_->aborting = true;
    WakeAll();
    WaitForConnections(kLastWordsTime, false);
    core_->closing = true;
    WakeAll();
    core_->workers.Stop();
    WaitForConnections(kLastWordsTime, false);
    core_->End();
    work_.reset();
    for (std::thread& thread : threads_) thread.join();
  }

  void AbortDrain() {
    {
      const std::lock_guard lock(core_->mutex);
      core_->aborting = true;
    }
    core_->changed.notify_all();
  }

  int port() const { return port_; }
  const std::shared_ptr<ServerCore>& core() const { return core_; }

 private:
  void RunIo() {
    // Coroutines catch their own; what arrives here came from a posted function.
    while (true) {
      try {
        core_->io.run();
        return;
      } catch (const std::exception& error) {
        Log(LogLevel::kError, "io_thread_caught", {{"what", error.what()}});
      }
    }
  }

  net::awaitable<void> AcceptLoop() {
    while (acceptor_.is_open()) {
      error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(net::make_strand(core_->io),
                                                           net::redirect_error(net::use_awaitable, error));
      if (error == net::error::operation_aborted || core_->draining) co_return;
      if (error) {
        Log(LogLevel::kWarning, "accept_failed", {{"reason", error.message()}});
        net::steady_timer pause(strand_, kAcceptPause);
        co_await pause.async_wait(net::redirect_error(net::use_awaitable, error));
        continue;
      }
      Admit(std::move(socket));
    }
  }

  void Admit(tcp::socket socket) {
    size_t open = 0;
    {
      const std::lock_guard lock(core_->mutex);
      open = core_->connections.size();
    }
    if (open < core_->options.max_connections) {
      std::make_shared<Connection>(std::move(socket), core_)->Start();
      return;
    }
    const HttpResponse busy = ErrorReply(Unavailable("the server has {} open connections, its limit", open));
    error_code ignored;
    socket.non_blocking(true, ignored);
    ResponseFraming framing;
    framing.keep_alive = false;
    const std::string bytes = SerializeResponseHead(busy, framing) + busy.body;
    socket.write_some(net::buffer(bytes), ignored);
  }

  void WakeAll() {
    const std::lock_guard lock(core_->mutex);
    for (Connection* connection : core_->connections) connection->Wake();
  }

  void WaitForConnections(std::chrono::milliseconds timeout, bool until_abort) {
    std::unique_lock lock(core_->mutex);
    core_->changed.wait_for(lock, timeout,
                            [&] { return core_->connections.empty() || (until_abort && core_->aborting); });
  }

  const std::shared_ptr<ServerCore> core_;
  net::strand<net::io_context::executor_type> strand_;
  tcp::acceptor acceptor_;
  net::executor_work_guard<net::io_context::executor_type> work_;
  int port_ = 0;
  std::vector<std::thread> threads_;
  std::mutex drain_mutex_;
  bool drained_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options, Router router,
                                                      RequestGate gate, RequestObserver observer) {
  auto core = std::make_shared<ServerCore>(std::move(options), std::move(router), std::move(gate),
                                           std::move(observer));
  auto impl = std::make_unique<Impl>(std::move(core));
  SACCADE_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

int HttpServer::port() const { return impl_->port(); }
bool HttpServer::draining() const { return impl_->core()->draining; }
void HttpServer::Drain(std::chrono::milliseconds timeout) { impl_->Drain(timeout); }
void HttpServer::AbortDrain() { impl_->AbortDrain(); }

size_t HttpServer::open_connections() const {
  const std::lock_guard lock(impl_->core()->mutex);
  return impl_->core()->connections.size();
}

}  // namespace saccade
