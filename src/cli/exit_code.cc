#include "cli/exit_code.h"

#include <cstdio>

namespace saccade {

int ExitCode(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInvalidArgument:
    case StatusCode::kUnsupported:
    case StatusCode::kTooLarge:
    case StatusCode::kUnauthenticated:
      return 2;
    case StatusCode::kNotFound:
      return 3;
    case StatusCode::kResourceExhausted:
    case StatusCode::kInsufficientStorage:
      return 4;
    case StatusCode::kUnavailable:
    case StatusCode::kDeadlineExceeded:
      return 5;
    case StatusCode::kCancelled:
      return 130;
    case StatusCode::kInternal:
      return 1;
  }
  return 1;
}

int Report(const Status& status) {
  if (!status.ok()) {
    fmt::print(stderr, "saccade: {}{}\n", status.param().empty() ? "" : status.param() + ": ",
               status.message());
  }
  return ExitCode(status);
}

}  // namespace saccade
