// Turns the bytes of a connection into requests, strictly: what two programs could read differently is
// refused, so that nothing can be smuggled past a proxy in front. Pure computation; the sockets are the
// connection's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "server/http.h"

namespace saccade {

// Parses one request. Thread-compatible.
class RequestParser {
 public:
  explicit RequestParser(size_t max_header_bytes);
  ~RequestParser();

  enum class State : uint8_t {
    kNeedMore,    // all of `input` that can be used was used
    kHeaderDone,  // reported once, before any byte of the body is consumed
    kDone,
    kFailed,  // error() is the answer; the rest of the connection is unusable
  };
  // Consumes bytes from the front of `input`.
  State Feed(std::string& input);
  State state() const { return state_; }

  // From kHeaderDone on: the request without its body, which is there at kDone.
  HttpRequest& request() { return request_; }
  bool keep_alive() const { return keep_alive_; }
  bool http10() const { return http10_; }
  bool expects_continue() const { return expects_continue_; }
  bool has_body() const { return has_body_; }
  std::optional<uint64_t> content_length() const { return content_length_; }

  // To be called at kHeaderDone for requests with a body.
  void SetBodyLimit(size_t max_bytes) { max_body_bytes_ = max_bytes; }
  size_t body_bytes() const;

  HttpResponse TakeError() { return std::move(error_); }

 private:
  struct Wire;  // the library's parser

  State Fail(HttpResponse error);
  State FeedHeader(std::string& input);
  State FeedBody(std::string& input);
  // Checks and copies the parsed header; false after Fail.
  bool AcceptHeader();
  bool AcceptTarget(std::string target);
  bool AcceptFraming();

  const size_t max_header_bytes_;
  size_t max_body_bytes_ = 0;
  std::unique_ptr<Wire> wire_;
  State state_ = State::kNeedMore;
  HttpRequest request_;
  HttpResponse error_;
  std::optional<uint64_t> content_length_;
  bool keep_alive_ = false, http10_ = false, expects_continue_ = false, has_body_ = false;
};

// The answer to a body over the limit, from its length or while it is read.
HttpResponse BodyTooLarge(size_t max_bytes, std::optional<uint64_t> declared);

}  // namespace saccade
