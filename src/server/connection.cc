#include "server/connection.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/log.h"
#include "base/stopwatch.h"
#include "server/error_reply.h"

// GCC 12 at -O1 takes the paired allocation functions of Asio's coroutine frames for a mismatch.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"

namespace saccade {
namespace {

namespace net = boost::asio;
using boost::system::error_code;

// Received in one go. Larger reads save little and the buffer lies on the stack.
constexpr size_t kReadBytes = size_t{32} << 10;
// Bytes of later requests that are read ahead while one is answered; past this the socket is left alone, and
// a client that goes away is noticed when writing fails.
constexpr size_t kMaxReadAhead = size_t{64} << 10;
// A closing connection reads on for this long so that the client gets to see the answer instead of a reset.
constexpr std::chrono::milliseconds kLingerTime{2000};
// "For ever", small enough that clocks do not overflow.
constexpr std::chrono::hours kLongTime{24};
// Body of a request whose route has no use for one.
constexpr size_t kIgnoredBodyBytes = size_t{64} << 10;

std::string JoinMethods(const std::vector<std::string>& methods) {
  std::string joined;
  for (const std::string& method : methods) joined += (joined.empty() ? "" : ", ") + method;
  return joined;
}

}  // namespace

Connection::Connection(net::ip::tcp::socket socket, std::shared_ptr<ServerCore> core)
    : core_(std::move(core)), socket_(std::move(socket)), wake_(socket_.get_executor()) {
  error_code ignored;
  socket_.set_option(net::ip::tcp::no_delay(true), ignored);
  socket_.non_blocking(true, ignored);
  const auto endpoint = socket_.remote_endpoint(ignored);
  if (!ignored) peer_ = endpoint.address().to_string();
}

Connection::~Connection() {
  ReleaseBody();
  {
    const std::lock_guard lock(core_->mutex);
    core_->connections.erase(this);
  }
  core_->changed.notify_all();
}

void Connection::Start() {
  {
    const std::lock_guard lock(core_->mutex);
    core_->connections.insert(this);
  }
  net::co_spawn(
      socket_.get_executor(), [self = shared_from_this()]() -> Awaitable<void> { return self->Run(); },
      [self = shared_from_this()](std::exception_ptr thrown) {
        self->CloseSocket();
        if (!thrown) return;
        try {
          std::rethrow_exception(thrown);
        } catch (const std::exception& error) {
          Log(LogLevel::kError, "connection_threw", {{"what", error.what()}});
        }
      });
}

void Connection::Wake() {
  core_->Post(socket_.get_executor(), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) {
      if (self->core_->closing) self->CloseSocket();
      self->wake_.cancel();
    }
  });
}

void Connection::CloseSocket() {
  error_code ignored;
  socket_.close(ignored);
  read_closed_ = true;
}

Connection::Awaitable<void> Connection::Run() {
  bool next = true;
  while (next) {
    linger_ = false;
    next = co_await ServeOne();
    ReleaseBody();
    lease_.reset();
    first_request_ = false;
  }
  if (linger_) co_await LingerClose();
  CloseSocket();
}

Connection::Awaitable<bool> Connection::ServeOne() {
  record_ = {};
  record_.peer = peer_;
  answer_begun_ = false;
  RequestParser parser(core_->options.max_header_bytes);
  ReadOutcome outcome = co_await ReadHeader(parser);
  if (outcome == ReadOutcome::kClosed) co_return false;
  HttpRequest& request = parser.request();
  request.peer = peer_;
  record_.id = request.id;
  record_.method = request.method;
  record_.path = request.path;
  http10_ = parser.http10();
  head_only_ = request.method == "HEAD";
  keep_alive_ = outcome == ReadOutcome::kComplete && parser.keep_alive() && !core_->draining;
  if (outcome == ReadOutcome::kRefused) {
    co_await Reply(parser.TakeError());
    co_return false;
  }
  const Router::Match match = core_->router.Find(request.method, request.path);
  if (match.route != nullptr) record_.pattern = match.route->pattern;
  request.path_tail = match.tail;
  auto refusal = Refusal(parser, match);
  record_.key_name = request.caller.key_name;
  lease_ = std::move(request.lease);
  if (refusal) {
    // The body is not read, so whatever follows on this connection cannot be understood.
    if (parser.has_body()) keep_alive_ = false;
    co_await Reply(std::move(*refusal));
    co_return keep_alive_;
  }
  parser.SetBodyLimit(std::max(match.route == nullptr ? 0 : match.route->max_body_bytes, kIgnoredBodyBytes));
  outcome = co_await ReadBody(parser);
  if (outcome == ReadOutcome::kClosed) co_return false;
  if (outcome == ReadOutcome::kRefused) {
    keep_alive_ = false;
    co_await Reply(parser.TakeError());
    co_return false;
  }
  record_.body_bytes = request.body.size();
  if (match.route == nullptr) {
    co_await Reply(OptionsReply(match));
    co_return keep_alive_;
  }
  const bool kept = co_await RunHandler(parser, *match.route);
  co_return kept;
}

// What can be said from the header alone.
std::optional<HttpResponse> Connection::Refusal(RequestParser& parser, const Router::Match& match) {
  HttpRequest& request = parser.request();
  if (match.allowed.empty()) {
    return ErrorReply(NotFound("there is no {} here; GET /openapi.json lists what there is", request.path));
  }
  if (match.route == nullptr && request.method != "OPTIONS") {
    auto response = ProtocolErrorReply(405, "method_not_allowed",
                                       fmt::format("{} does not answer {}, only {}", request.path,
                                                   request.method, JoinMethods(match.allowed)));
    response.headers.emplace_back("allow", JoinMethods(match.allowed));
    return response;
  }
  // Browsers say when a page of another site sends a request; without this, any web page could make a server
  // on the visitor's machine work.
  const std::string& allowed_origin = core_->options.allow_origin;
  if (request.Header("sec-fetch-site") == "cross-site" && match.route != nullptr &&
      match.route->method != "GET" && allowed_origin != "*" &&
      (allowed_origin.empty() || request.Header("origin") != allowed_origin)) {
    return ProtocolErrorReply(403, "cross_site",
                              "requests from pages of other sites are switched off; the "
                              "server's allow-origin setting switches them on");
  }
  const size_t limit = std::max(match.route == nullptr ? 0 : match.route->max_body_bytes, kIgnoredBodyBytes);
  if (parser.content_length().value_or(0) > limit) return BodyTooLarge(limit, parser.content_length());
  if (match.route != nullptr && core_->gate) return core_->gate(request, *match.route);
  return std::nullopt;
}

HttpResponse Connection::OptionsReply(const Router::Match& match) const {
  HttpResponse response;
  response.status = 204;
  response.headers.emplace_back("allow", JoinMethods(match.allowed));
  if (!core_->options.allow_origin.empty()) {
    response.headers.emplace_back("access-control-allow-methods", JoinMethods(match.allowed));
    response.headers.emplace_back("access-control-allow-headers",
                                  "authorization, content-type, x-request-id");
    response.headers.emplace_back("access-control-max-age", "3600");
  }
  return response;
}

Connection::Awaitable<Connection::ReadOutcome> Connection::ReadHeader(RequestParser& parser) {
  started_ = Clock::now();
  bool idle = input_.empty() && !first_request_;
  auto deadline = started_ + (idle ? core_->options.idle_timeout : core_->options.header_timeout);
  while (true) {
    if (idle && !input_.empty()) {
      idle = false;
      started_ = Clock::now();
      deadline = started_ + core_->options.header_timeout;
    }
    const auto state = parser.Feed(input_);
    if (state == RequestParser::State::kHeaderDone) co_return ReadOutcome::kComplete;
    if (state == RequestParser::State::kFailed) co_return ReadOutcome::kRefused;
    if (read_closed_ || (core_->draining && input_.empty())) co_return ReadOutcome::kClosed;
    ArmRead();
    const bool woken = co_await Wait(deadline);
    if (!woken && Clock::now() >= deadline) {
      if (input_.empty()) co_return ReadOutcome::kClosed;
      co_await Reply(ProtocolErrorReply(408, "header_timeout", "the request header took too long to arrive"));
      co_return ReadOutcome::kClosed;
    }
  }
}

Connection::Awaitable<Connection::ReadOutcome> Connection::ReadBody(RequestParser& parser) {
  if (parser.has_body() && parser.expects_continue() && input_.empty()) {
    const bool sent = co_await WriteBytes("HTTP/1.1 100 Continue\r\n\r\n");
    if (!sent) co_return ReadOutcome::kClosed;
  }
  const auto begun = Clock::now();
  while (true) {
    const auto state = parser.Feed(input_);
    if (state == RequestParser::State::kDone) co_return ReadOutcome::kComplete;
    if (state == RequestParser::State::kFailed) co_return ReadOutcome::kRefused;
    if (read_closed_) co_return ReadOutcome::kClosed;
    if (!ReserveBody(parser.body_bytes())) {
      keep_alive_ = false;
      co_await Reply(ErrorReply(Unavailable("the server is busy receiving other large requests")));
      co_return ReadOutcome::kClosed;
    }
    const auto allowed =
        core_->options.body_grace +
        std::chrono::milliseconds(parser.body_bytes() * 1000 / core_->options.min_body_bytes_per_second);
    ArmRead();
    const bool woken = co_await Wait(begun + allowed);
    if (!woken && Clock::now() >= begun + allowed) {
      keep_alive_ = false;
      co_await Reply(ProtocolErrorReply(408, "body_timeout", "the request body took too long to arrive"));
      co_return ReadOutcome::kClosed;
    }
  }
}

Connection::Awaitable<bool> Connection::RunHandler(RequestParser& parser, const Route& route) {
  parser.request().arrived = Clock::now();
  auto state = std::make_shared<ExchangeState>(
      std::move(parser.request()),
      [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->Wake();
      },
      [core = core_, executor = socket_.get_executor()](std::function<void()> function) {
        core->Post(executor, std::move(function));
      });
  Dispatch(state, route);
  const bool kept = co_await WriteAnswer(state);
  co_return kept;
}

void Connection::Dispatch(const std::shared_ptr<ExchangeState>& state, const Route& route) {
  auto exchange = std::make_shared<Exchange>(state);
  if (!route.on_worker) {
    try {
      route.handler(std::move(exchange));
    } catch (const std::exception& error) {  // the handler's Exchange answers 500 as it goes
      Log(LogLevel::kError, "handler_threw", {{"route", route.pattern}, {"what", error.what()}});
    }
    return;
  }
  const bool taken = core_->workers.TrySubmit([exchange, handler = &route.handler] { (*handler)(exchange); });
  if (!taken) exchange->Send(ErrorReply(Unavailable("too many requests are waiting to be prepared")));
}

Connection::Awaitable<bool> Connection::WriteAnswer(const std::shared_ptr<ExchangeState>& state) {
  auto last_write = Clock::now();
  while (true) {
    ExchangeState::Output output = state->Take();
    heartbeat_ = output.heartbeat;
    heartbeat_interval_ = output.heartbeat_interval;
    const bool beat_due =
        answer_begun_ && !heartbeat_.empty() && Clock::now() >= last_write + heartbeat_interval_;
    if (output.head == nullptr && output.chunks.empty() && !output.finished && beat_due) {
      output.chunks.emplace_back(heartbeat_);
    }
    if (output.head != nullptr || !output.chunks.empty() || output.finished) {
      const bool written = co_await WriteOutput(output);
      if (!written) break;
      last_write = Clock::now();
      if (output.finished) {
        record_.annotations = state->TakeAnnotations();
        Record(record_.status);
        co_return keep_alive_;
      }
      continue;  // more may have come while this was written
    }
    if (read_closed_) break;
    if (core_->aborting) state->MarkGone(GoneReason::kServerStopping);
    auto next = Clock::now() + kLongTime;
    if (output.deadline && Clock::now() >= *output.deadline) {
      state->MarkGone(GoneReason::kDeadlinePassed);
    } else if (output.deadline) {
      next = *output.deadline;
    }
    ArmRead();
    if (answer_begun_ && !heartbeat_.empty()) next = std::min(next, last_write + heartbeat_interval_);
    co_await Wait(next);
  }
  state->MarkGone(GoneReason::kClientGone);
  record_.annotations = state->TakeAnnotations();
  Record(499);
  co_return false;
}

Connection::Awaitable<bool> Connection::WriteOutput(ExchangeState::Output& output) {
  std::string bytes;
  std::string_view body;
  if (output.head != nullptr) {
    chunked_ = output.streaming && !http10_;
    if (output.streaming && http10_) keep_alive_ = false;
    if (output.head->close || core_->draining) keep_alive_ = false;
    record_.status = output.head->status;
    answer_begun_ = true;
    bytes = ResponseHead(*output.head, output.streaming);
    if (!output.streaming && !head_only_) body = output.head->bytes();
  }
  // Before the last bytes: whoever has read them may send the next request at once.
  if (output.finished) lease_.reset();
  for (const std::string& chunk : output.chunks) bytes += chunked_ ? EncodeChunk(chunk) : chunk;
  if (output.finished && chunked_) bytes += kLastChunk;
  if (body.size() <= kReadBytes) {  // small answers leave in one packet
    bytes += body;
    body = {};
  }
  if (!keep_alive_) linger_ = true;
  bool written = co_await WriteBytes(bytes);
  if (written && !body.empty()) written = co_await WriteBytes(body);
  chunked_ = chunked_ && !output.finished;
  co_return written;
}

std::string Connection::ResponseHead(HttpResponse& response, bool streaming) {
  if (!core_->options.allow_origin.empty()) {
    response.headers.emplace_back("access-control-allow-origin", core_->options.allow_origin);
    response.headers.emplace_back("access-control-expose-headers", "x-request-id, retry-after");
  }
  return SerializeResponseHead(response,
                               {.request_id = record_.id,
                                .keep_alive = keep_alive_,
                                .chunked = streaming,
                                .http10 = http10_,
                                .no_content_header = response.status == 204 || response.status == 304});
}

Connection::Awaitable<void> Connection::Reply(HttpResponse response) {
  ExchangeState::Output output;
  output.head = std::make_unique<HttpResponse>(std::move(response));
  output.finished = true;
  const bool written = co_await WriteOutput(output);
  Record(written ? record_.status : 499);
  keep_alive_ = keep_alive_ && written;
}

void Connection::Record(int status) {
  record_.status = status;
  record_.ms = MillisecondsSince(started_);
  if (core_->observer) core_->observer(record_);
}

// Waits for the socket to be readable instead of reading into a buffer: an idle connection then owns none.
void Connection::ArmRead() {
  if (read_armed_ || read_closed_ || (!discard_input_ && input_.size() >= kMaxReadAhead)) return;
  read_armed_ = true;
  socket_.async_wait(net::ip::tcp::socket::wait_read,
                     [self = shared_from_this()](const error_code& error) { self->OnReadable(error); });
}

void Connection::OnReadable(const error_code& wait_error) {
  read_armed_ = false;
  error_code error = wait_error;
  if (!error) {
    std::array<char, kReadBytes> scratch;
    const size_t received = socket_.read_some(net::buffer(scratch), error);
    if (!discard_input_) input_.append(scratch.data(), received);
  }
  if (error == net::error::would_block || error == net::error::try_again) error = {};
  if (error) read_closed_ = true;
  wake_.cancel();
}

Connection::Awaitable<bool> Connection::WriteBytes(std::string_view bytes) {
  while (!bytes.empty()) {
    bool done = false;
    error_code error;
    size_t sent = 0;
    socket_.async_write_some(net::buffer(bytes.data(), bytes.size()),
                             [&, self = shared_from_this()](const error_code& result, size_t count) {
                               done = true;
                               error = result;
                               sent = count;
                               self->wake_.cancel();
                             });
    auto deadline = Clock::now() + core_->options.write_timeout;
    while (!done) {
      co_await Wait(deadline);
      if (done || Clock::now() < deadline) continue;
      CloseSocket();  // ends the operation above, which refers to locals: wait for that
      deadline = Clock::now() + kLongTime;
    }
    if (error) {
      read_closed_ = true;
      co_return false;
    }
    record_.sent_bytes += sent;
    bytes.remove_prefix(sent);
  }
  co_return true;
}

Connection::Awaitable<bool> Connection::Wait(Clock::time_point deadline) {
  error_code error;
  wake_.expires_at(deadline);
  co_await wake_.async_wait(net::redirect_error(net::use_awaitable, error));
  co_return error == net::error::operation_aborted;
}

Connection::Awaitable<void> Connection::LingerClose() {
  error_code ignored;
  socket_.shutdown(net::ip::tcp::socket::shutdown_send, ignored);
  discard_input_ = true;
  input_.clear();
  const auto deadline = Clock::now() + kLingerTime;
  while (!read_closed_ && !core_->closing && Clock::now() < deadline) {
    ArmRead();
    co_await Wait(deadline);
  }
}

bool Connection::ReserveBody(size_t bytes) {
  const size_t more = bytes - reserved_body_bytes_;
  reserved_body_bytes_ = bytes;
  return core_->body_bytes.fetch_add(more) + more <= core_->options.max_body_bytes_in_flight;
}

void Connection::ReleaseBody() {
  core_->body_bytes -= reserved_body_bytes_;
  reserved_body_bytes_ = 0;
}

}  // namespace saccade
