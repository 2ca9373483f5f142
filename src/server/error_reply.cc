#include "server/error_reply.h"

#include <fmt/format.h>

#include "base/json.h"

namespace saccade {
namespace {

// Seconds after which another try makes sense. A queue of answers moves within seconds; loading a model or a
// restart takes longer.
constexpr std::string_view kRetryBusySeconds = "2";
constexpr std::string_view kRetryStartingSeconds = "5";

std::string_view ErrorType(int http_status) {
  switch (http_status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
    default:
      return http_status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string Body(int http_status, std::string_view code, std::string_view message, std::string_view param) {
  const OrderedJson body = {{"error",
                             {{"message", message},
                              {"type", ErrorType(http_status)},
                              {"param", param.empty() ? OrderedJson(nullptr) : OrderedJson(param)},
                              {"code", code}}}};
  return body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

// OpenAI clients look for this code by name.
std::string_view ErrorCode(const Status& status) {
  if (status.code() == StatusCode::kNotFound && status.param() == "model") return "model_not_found";
  return StatusCodeName(status.code());
}

}  // namespace

int HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kUnsupported:
      return 400;
    case StatusCode::kTooLarge:
      return 413;
    case StatusCode::kUnauthenticated:
      return 401;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kResourceExhausted:
      return 429;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kInsufficientStorage:
      return 507;
    case StatusCode::kDeadlineExceeded:
      return 504;
    case StatusCode::kCancelled:
      return 499;
    case StatusCode::kInternal:
      return 500;
  }
  return 500;
}

std::string ErrorBody(const Status& status) {
  return Body(HttpStatusOf(status.code()), ErrorCode(status), status.message(), status.param());
}

HttpResponse ErrorReply(const Status& status) {
  HttpResponse response;
  response.status = HttpStatusOf(status.code());
  response.content_type = "application/json";
  response.body = ErrorBody(status);
  if (response.status == 429) response.headers.emplace_back("retry-after", kRetryBusySeconds);
  if (response.status == 503) response.headers.emplace_back("retry-after", kRetryStartingSeconds);
  if (response.status == 401) response.headers.emplace_back("www-authenticate", "Bearer");
  return response;
}

HttpResponse ErrorReply(const Status& status, int retry_after_seconds) {
  HttpResponse response = ErrorReply(status);
  std::erase_if(response.headers, [](const auto& header) { return header.first == "retry-after"; });
  response.headers.emplace_back("retry-after", fmt::format("{}", retry_after_seconds));
  return response;
}

HttpResponse ProtocolErrorReply(int http_status, std::string_view code, std::string_view message) {
  HttpResponse response;
  response.status = http_status;
  response.content_type = "application/json";
  response.body = Body(http_status, code, message, "");
  return response;
}

}  // namespace saccade
