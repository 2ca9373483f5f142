// The one place that turns an error into HTTP: status line, OpenAI-shaped body, Retry-After.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "server/http.h"

namespace saccade {

// system.md section 7: 400 for kInvalidArgument and kUnsupported, 413 for kTooLarge, and so on.
int HttpStatusOf(StatusCode code);

// {"error":{"message","type","param","code"}}; also the last event of a stream that fails on the way.
std::string ErrorBody(const Status& status);

// The complete answer for a failed request.
HttpResponse ErrorReply(const Status& status);
// The same when it is known how long to wait.
HttpResponse ErrorReply(const Status& status, int retry_after_seconds);

// For faults of the protocol itself that no StatusCode stands for: 403, 405, 408, 417, 431, 501, 505.
HttpResponse ProtocolErrorReply(int http_status, std::string_view code, std::string_view message);

}  // namespace saccade
