// One client connection: reads requests, hands them to their route, writes the answers, notices when the
// client goes away. Included by http_server.cc and connection.cc only.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "server/request_parser.h"
#include "server/server_core.h"

namespace saccade {

// Lives on the strand of its socket; only Wake may be called from other threads. All waiting is done by one
// coroutine on one timer: reads, writes, handlers and the stop of the server cancel it, and the coroutine
// looks at the state again. So every wait has a deadline and no operation is ever abandoned.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ServerCore> core);
  ~Connection();

  void Start();
  void Wake();

 private:
  using Clock = std::chrono::steady_clock;
  template <class T>
  using Awaitable = boost::asio::awaitable<T>;
  enum class ReadOutcome : uint8_t { kComplete, kClosed, kRefused };

  Awaitable<void> Run();
  // One request and its answer; false when the connection is to be closed.
  Awaitable<bool> ServeOne();
  Awaitable<ReadOutcome> ReadHeader(RequestParser& parser);
  Awaitable<ReadOutcome> ReadBody(RequestParser& parser);
  // Runs the handler and writes what it answers.
  Awaitable<bool> RunHandler(RequestParser& parser, const Route& route);
  void Dispatch(const std::shared_ptr<ExchangeState>& state, const Route& route);
  Awaitable<bool> WriteAnswer(const std::shared_ptr<ExchangeState>& state);
  // Writes what has come from the handler since the last time; false when the client is gone.
  Awaitable<bool> WriteOutput(ExchangeState::Output& output);
  // Sends an answer that no handler made.
  Awaitable<void> Reply(HttpResponse response);
  std::optional<HttpResponse> Refusal(RequestParser& parser, const Router::Match& match);
  HttpResponse OptionsReply(const Router::Match& match) const;

  std::string ResponseHead(HttpResponse& response, bool streaming);
  void Record(int status);

  void ArmRead();
  void OnReadable(const boost::system::error_code& error);
  Awaitable<bool> WriteBytes(std::string_view bytes);
  // Until something happens or the deadline passes; false for the latter.
  Awaitable<bool> Wait(Clock::time_point deadline);
  Awaitable<void> LingerClose();
  void CloseSocket();
  bool ReserveBody(size_t bytes);
  void ReleaseBody();

  const std::shared_ptr<ServerCore> core_;  // first: the socket must go before the io_context
  boost::asio::ip::tcp::socket socket_;
  boost::asio::steady_timer wake_;
  std::string peer_;

  std::string input_;  // received and not yet parsed
  bool read_armed_ = false, read_closed_ = false, discard_input_ = false;
  bool first_request_ = true;

  // The request being answered.
  RequestRecord record_;
  Clock::time_point started_;
  bool keep_alive_ = false, http10_ = false, head_only_ = false;
  bool linger_ = false;
  bool chunked_ = false, answer_begun_ = false;
  std::string_view heartbeat_;
  std::chrono::milliseconds heartbeat_interval_{0};
  size_t reserved_body_bytes_ = 0;
  std::shared_ptr<const void> lease_;
};

}  // namespace saccade
