#include "base/status.h"

namespace saccade {

std::string_view StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "ok";
    case StatusCode::kInvalidArgument:
      return "invalid_argument";
    case StatusCode::kUnsupported:
      return "unsupported";
    case StatusCode::kTooLarge:
      return "too_large";
    case StatusCode::kUnauthenticated:
      return "unauthenticated";
    case StatusCode::kNotFound:
      return "not_found";
    case StatusCode::kResourceExhausted:
      return "resource_exhausted";
    case StatusCode::kUnavailable:
      return "unavailable";
    case StatusCode::kInsufficientStorage:
      return "insufficient_storage";
    case StatusCode::kDeadlineExceeded:
      return "deadline_exceeded";
    case StatusCode::kCancelled:
      return "cancelled";
    case StatusCode::kInternal:
      return "internal";
  }
  return "unknown";
}

Status& Status::WithParam(std::string_view part) & {
  if (ok() || part.empty()) return *this;
  if (param_.empty()) {
    param_ = part;
  } else {
    std::string joined(part);
    if (param_.front() != '[') joined += '.';
    param_ = joined + param_;
  }
  return *this;
}

Status& Status::WithContext(std::string_view context) & {
  if (!ok()) message_ = fmt::format("{}: {}", context, message_);
  return *this;
}

std::string Status::ToString() const {
  if (ok()) return "ok";
  if (param_.empty()) return fmt::format("{}: {}", StatusCodeName(code_), message_);
  return fmt::format("{}: {} ({})", StatusCodeName(code_), message_, param_);
}

}  // namespace saccade
