// The one mapping from Status to what the shell sees.
#pragma once

#include "base/status.h"

namespace saccade {

// 0 success, 1 internal, 2 wrong input or arguments, 3 not found, 4 not enough memory or disk, 5 unavailable
// or out of time, 130 interrupted (as shells report Ctrl-C).
int ExitCode(const Status& status);

// Prints "saccade: message" to standard error and returns the exit code.
int Report(const Status& status);

}  // namespace saccade
