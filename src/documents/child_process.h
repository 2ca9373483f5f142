// Runs this program again as a child that gets some bytes, may write some, and has to end in time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace saccade {

struct ChildRun {
  std::string output;      // of its standard output
  int exit_code = -1;      // when it ended by itself
  int signal = 0;          // when it was ended
  bool timed_out = false;  // ended by us
  bool too_much = false;   // likewise, for its output
};

struct ChildLimits {
  std::chrono::milliseconds wall{0};
  size_t max_output_bytes = 0;
};

// `input` is its standard input, a file in memory; standard error is /dev/null; no other descriptor, no
// environment variable and no ignored signal is inherited. The error is that of starting it. Thread-safe.
Result<ChildRun> RunSelf(const std::vector<std::string>& arguments, std::span<const std::byte> input,
                         const ChildLimits& limits);

}  // namespace saccade
