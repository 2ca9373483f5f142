// The one error type. Library code returns Status or Result<T>; it neither prints nor ends the process. One
// function each maps a code to HTTP (server/error_reply) and to an exit code (cli/exit_code).
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace saccade {

enum class StatusCode : uint8_t {
  kOk = 0,
  kInvalidArgument,      // the caller's input is wrong; says what is accepted               HTTP 400
  kUnsupported,          // well formed, but this build or model cannot do it                HTTP 400
  kTooLarge,             // over a size limit; names both numbers                            HTTP 413
  kUnauthenticated,      // no or wrong key                                                  HTTP 401
  kNotFound,             // no such file, model, task or route                               HTTP 404
  kResourceExhausted,    // queue full, rate limit, deadline not reachable: try later        HTTP 429
  kUnavailable,          // starting, draining, or a store cannot be reached                 HTTP 503
  kInsufficientStorage,  // disk full                                                        HTTP 507
  kDeadlineExceeded,     // the request's own time limit ran out                             HTTP 504
  kCancelled,            // the client went away or asked to stop                            HTTP 499
  kInternal,             // a bug or broken weights (NaN); never the caller's fault          HTTP 500
};

// "invalid_argument", "too_large", ...: stable names for logs, metrics and JSON.
std::string_view StatusCodeName(StatusCode code);

// Success, or a code with a message for a person. Messages say what is wrong and what to do about it.
// `param` names the part of a request that is at fault, e.g. "messages[0].content[1].image_url".
// A value type: copy and move freely between threads.
class [[nodiscard]] Status {
 public:
  Status() = default;  // success
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& param() const { return param_; }

  // Names the part at fault. An inner "image_url" prefixed by an outer "messages[0].content[1]" becomes
  // "messages[0].content[1].image_url"; call it from the inside out.
  Status& WithParam(std::string_view part) &;
  Status&& WithParam(std::string_view part) && { return std::move(WithParam(part)); }

  // Puts "context: " before the message, for errors whose cause lies in a deeper layer.
  Status& WithContext(std::string_view context) &;
  Status&& WithContext(std::string_view context) && { return std::move(WithContext(context)); }

  // "invalid_argument: message (param)" for logs and tests.
  std::string ToString() const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
  std::string param_;
};

inline Status OkStatus() { return {}; }

#define SACCADE_STATUS_FACTORY(Name)                                                \
  template <class... Args>                                                          \
  Status Name(fmt::format_string<Args...> format, Args&&... args) {                 \
    return {StatusCode::k##Name, fmt::format(format, std::forward<Args>(args)...)}; \
  }
SACCADE_STATUS_FACTORY(InvalidArgument)
SACCADE_STATUS_FACTORY(Unsupported)
SACCADE_STATUS_FACTORY(TooLarge)
SACCADE_STATUS_FACTORY(Unauthenticated)
SACCADE_STATUS_FACTORY(NotFound)
SACCADE_STATUS_FACTORY(ResourceExhausted)
SACCADE_STATUS_FACTORY(Unavailable)
SACCADE_STATUS_FACTORY(InsufficientStorage)
SACCADE_STATUS_FACTORY(DeadlineExceeded)
SACCADE_STATUS_FACTORY(Cancelled)
SACCADE_STATUS_FACTORY(Internal)
#undef SACCADE_STATUS_FACTORY

// A value or the Status that explains its absence. Reading the value of a failed Result is a bug (checked).
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<1>, std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : state_(std::in_place_index<0>, std::move(status)) {}  // NOLINT: implicit by design

  bool ok() const { return state_.index() == 1; }
  const Status& status() const& {
    static const Status success;
    return ok() ? success : std::get<0>(state_);
  }
  Status status() && { return ok() ? Status() : std::move(std::get<0>(state_)); }

  T& value() & { return std::get<1>(state_); }
  const T& value() const& { return std::get<1>(state_); }
  T&& value() && { return std::get<1>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<Status, T> state_;
};

}  // namespace saccade

#define SACCADE_CONCAT_INNER(a, b) a##b
#define SACCADE_CONCAT(a, b) SACCADE_CONCAT_INNER(a, b)

// Returns from the enclosing function when `expression` (a Status) is an error.
#define SACCADE_RETURN_IF_ERROR(expression)                                      \
  do {                                                                           \
    if (::saccade::Status status_ = (expression); !status_.ok()) return status_; \
  } while (false)

// Declares or assigns `target` from a Result, or returns its Status: SACCADE_ASSIGN_OR_RETURN(auto x,
// Make());
#define SACCADE_ASSIGN_OR_RETURN(target, expression) \
  SACCADE_ASSIGN_OR_RETURN_IMPL(SACCADE_CONCAT(result_, __LINE__), target, expression)
#define SACCADE_ASSIGN_OR_RETURN_IMPL(result, target, expression) \
  auto result = (expression);                                     \
  if (!result.ok()) return std::move(result).status();            \
  target = std::move(result).value()
