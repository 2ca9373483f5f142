#include "server/request_parser.h"

#include <fmt/format.h>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "server/error_reply.h"

namespace saccade {
namespace {

namespace beast_http = boost::beast::http;

// Bytes of chunk sizes, extensions and trailers that may wait for their end of line.
constexpr size_t kMaxUnusedBodyBytes = size_t{80} << 10;
constexpr size_t kMaxTargetBytes = 8192;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

HttpResponse Malformed(std::string_view what) {
  return ProtocolErrorReply(400, "malformed_request", fmt::format("malformed HTTP request: {}", what));
}

}  // namespace

struct RequestParser::Wire {
  beast_http::request_parser<beast_http::string_body> parser;
};

HttpResponse BodyTooLarge(size_t max_bytes, std::optional<uint64_t> declared) {
  if (declared.has_value()) {
    return ErrorReply(TooLarge("the request body has {} bytes, the limit is {}", *declared, max_bytes));
  }
  return ErrorReply(TooLarge("the request body is larger than the limit of {} bytes", max_bytes));
}

RequestParser::RequestParser(size_t max_header_bytes)
    : max_header_bytes_(max_header_bytes), wire_(std::make_unique<Wire>()) {
  wire_->parser.header_limit(static_cast<std::uint32_t>(max_header_bytes));
  // Checked here and by FeedBody, once the route and with it the limit is known.
  wire_->parser.body_limit(boost::none);
}

RequestParser::~RequestParser() = default;

size_t RequestParser::body_bytes() const { return wire_->parser.get().body().size(); }

RequestParser::State RequestParser::Fail(HttpResponse error) {
  error_ = std::move(error);
  return state_ = State::kFailed;
}

RequestParser::State RequestParser::Feed(std::string& input) {
  if (state_ == State::kFailed || state_ == State::kDone) return state_;
  if (state_ == State::kNeedMore && !wire_->parser.is_header_done()) return FeedHeader(input);
  return FeedBody(input);
}

RequestParser::State RequestParser::FeedHeader(std::string& input) {
  if (!wire_->parser.got_some()) {
    // RFC 9112 2.2: an empty line before the request line is ignored.
    while (input.size() >= 2 && input[0] == '\r' && input[1] == '\n') input.erase(0, 2);
    if (input == "\r") return state_;
  }
  if (input.empty()) return state_;
  boost::system::error_code error;
  const size_t used = wire_->parser.put(boost::asio::buffer(input), error);
  input.erase(0, used);
  if (error == beast_http::error::need_more) {
    if (input.size() < max_header_bytes_) return state_;
    error = beast_http::error::header_limit;
  }
  if (error == beast_http::error::header_limit) {
    return Fail(
        ProtocolErrorReply(431, "header_too_large",
                           fmt::format("the request header is larger than {} bytes", max_header_bytes_)));
  }
  if (error == beast_http::error::bad_version) {
    return Fail(ProtocolErrorReply(505, "http_version", "only HTTP/1.0 and HTTP/1.1 are spoken here"));
  }
  if (error) return Fail(Malformed(error.message()));
  if (!wire_->parser.is_header_done()) return state_;
  if (!AcceptHeader()) return state_;
  return state_ = State::kHeaderDone;
}

RequestParser::State RequestParser::FeedBody(std::string& input) {
  state_ = State::kNeedMore;
  wire_->parser.eager(true);
  while (!wire_->parser.is_done()) {
    if (input.empty()) return state_;
    boost::system::error_code error;
    const size_t used = wire_->parser.put(boost::asio::buffer(input), error);
    input.erase(0, used);
    if (error && error != beast_http::error::need_more) return Fail(Malformed(error.message()));
    if (body_bytes() > max_body_bytes_) return Fail(BodyTooLarge(max_body_bytes_, std::nullopt));
    if (error == beast_http::error::need_more) {
      if (input.size() > kMaxUnusedBodyBytes)
        return Fail(Malformed("a line of the chunked body is too long"));
      return state_;
    }
  }
  request_.body = std::move(wire_->parser.get().body());
  return state_ = State::kDone;
}

bool RequestParser::AcceptHeader() {
  const auto& message = wire_->parser.get();
  http10_ = message.version() == 10;
  keep_alive_ = wire_->parser.keep_alive();
  request_.method = View(message.method_string());
  for (const auto& field : message) {
    request_.headers.emplace_back(View(field.name_string()), View(field.value()));
  }
  request_.id = RequestIdFrom(request_.Header("x-request-id"));
  return AcceptFraming() && AcceptTarget(std::string(View(message.target())));
}

// Where the body ends must be beyond doubt: at most one length, never a length and chunks together.
bool RequestParser::AcceptFraming() {
  size_t hosts = 0, lengths = 0, encodings = 0;
  for (const auto& [name, value] : request_.headers) {
    hosts += HttpNameEquals(name, "host");
    if (HttpNameEquals(name, "content-length")) {
      ++lengths;
      if (value.find_first_not_of("0123456789") != std::string::npos) lengths = 2;
    }
    if (HttpNameEquals(name, "transfer-encoding")) {
      ++encodings;
      if (!HttpNameEquals(value, "chunked")) encodings = 2;
    }
  }
  if (hosts > 1 || (hosts == 0 && !http10_)) {
    Fail(Malformed("exactly one Host header is required"));
  } else if (lengths > 1) {
    Fail(Malformed("ambiguous Content-Length"));
  } else if (encodings > 1 || (encodings == 1 && http10_)) {
    Fail(Malformed("the only Transfer-Encoding understood is chunked, in HTTP/1.1"));
  } else if (lengths + encodings > 1) {
    Fail(Malformed("Content-Length and Transfer-Encoding together"));
  }
  if (state_ == State::kFailed) return false;
  if (lengths == 1) content_length_ = wire_->parser.content_length().value_or(0);
  has_body_ = encodings == 1 || content_length_.value_or(0) > 0;
  const std::string_view expect = request_.Header("expect");
  expects_continue_ = HttpNameEquals(expect, "100-continue");
  if (!expect.empty() && !expects_continue_) {
    Fail(ProtocolErrorReply(417, "expectation_failed", "the only Expect understood is 100-continue"));
  }
  return state_ != State::kFailed;
}

bool RequestParser::AcceptTarget(std::string target) {
  if (target.size() > kMaxTargetBytes) {
    Fail(ProtocolErrorReply(414, "uri_too_long",
                            fmt::format("the path is longer than {} bytes", kMaxTargetBytes)));
    return false;
  }
  // Proxies may send the absolute form.
  if (const size_t scheme = target.find("://"); scheme != std::string::npos && target[0] != '/') {
    const size_t slash = target.find('/', scheme + 3);
    target = slash == std::string::npos ? "/" : target.substr(slash);
  }
  if (target == "*" && request_.method == "OPTIONS") target = "/";
  const size_t mark = target.find('?');
  auto path = PercentDecode(std::string_view(target).substr(0, mark));
  if (target[0] != '/' || !path.has_value()) {
    Fail(Malformed("the request target must be a path"));
    return false;
  }
  request_.path = std::move(*path);
  if (mark != std::string::npos) request_.query = target.substr(mark + 1);
  return true;
}

}  // namespace saccade
