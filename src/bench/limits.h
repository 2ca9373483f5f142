// The limits of the machine, measured beside the work that is compared with them.
#pragma once

#include <functional>

#include "bench/bench.h"
#include "kernels/peaks/peaks.h"

namespace saccade {

// One driver thread.
class LimitMeter {
 public:
  explicit LimitMeter(KernelContext& context) : context_(context) {}

  // The best that was seen so far: a limit is what the machine can do when it is left alone.
  const BenchLimits& best() const { return best_; }
  // Measures all limits now.
  BenchLimits Measure();

  struct Timing {
    double seconds = 0;  // median of the repeats
    BenchLimits limits;  // mean of those before and after each repeat, median run
  };
  // Runs `work` once unmeasured and then `repeats` times, each between two measurements of the limits. The
  // repeat of median share is reported, so that a slow phase of the machine hits both sides.
  Timing Time(int repeats, const std::function<void()>& work);

 private:
  KernelContext& context_;
  ReadProbe probe_;
  BenchLimits best_;
};

}  // namespace saccade
