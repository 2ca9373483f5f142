// Durations as numbers.
#pragma once

#include <chrono>

namespace saccade {

inline double MillisecondsBetween(std::chrono::steady_clock::time_point from,
                                  std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

inline double MillisecondsSince(std::chrono::steady_clock::time_point start) {
  return MillisecondsBetween(start, std::chrono::steady_clock::now());
}

}  // namespace saccade
