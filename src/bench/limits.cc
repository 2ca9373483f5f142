#include "bench/limits.h"

#include <algorithm>
#include <chrono>
#include <vector>

namespace saccade {
namespace {

BenchLimits Mean(const BenchLimits& a, const BenchLimits& b) {
  return {(a.int8_gops + b.int8_gops) / 2, (a.bf16_gops + b.bf16_gops) / 2, (a.f32_gops + b.f32_gops) / 2,
          (a.read_gbps + b.read_gbps) / 2};
}

}  // namespace

BenchLimits LimitMeter::Measure() {
  const BenchLimits now = {PeakGops(context_, WeightType::kInt8), PeakGops(context_, WeightType::kBf16),
                           PeakGops(context_, WeightType::kF32), probe_.GigabytesPerSecond(context_)};
  best_ = {std::max(best_.int8_gops, now.int8_gops), std::max(best_.bf16_gops, now.bf16_gops),
           std::max(best_.f32_gops, now.f32_gops), std::max(best_.read_gbps, now.read_gbps)};
  return now;
}

LimitMeter::Timing LimitMeter::Time(int repeats, const std::function<void()>& work) {
  using Clock = std::chrono::steady_clock;
  work();
  std::vector<Timing> timings;
  BenchLimits before = Measure();
  for (int i = 0; i < repeats; ++i) {
    const auto start = Clock::now();
    work();
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const BenchLimits after = Measure();
    timings.push_back({seconds, Mean(before, after)});
    before = after;
  }
  const auto middle = timings.begin() + static_cast<std::ptrdiff_t>(timings.size() / 2);
  std::nth_element(timings.begin(), middle, timings.end(), [](const Timing& a, const Timing& b) {
    return a.seconds * a.limits.int8_gops < b.seconds * b.limits.int8_gops;
  });
  return *middle;
}

}  // namespace saccade
