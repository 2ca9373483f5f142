// What the processor can do at most, so that a speed can be given as a share of it. Shared machines change
// speed from minute to minute: measure the limit right beside what is compared with it.
#pragma once

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"

namespace saccade {

// Billions of operations per second of all threads, multiplications and additions counted, in loops of
// nothing but the instruction that products of this weight type are made of: int8 or bf16 dot products, f32
// multiply-adds. 0 where the ISA has no such loop.
double PeakGops(KernelContext& context, WeightType type);

// Memory that the read bandwidth is measured on: larger than any cache, on huge pages where allowed.
class ReadProbe {
 public:
  explicit ReadProbe(size_t bytes = size_t{512} << 20);
  bool ok() const { return memory_.ok(); }
  // GB/s of all threads reading the memory once, the best of several patterns (one stretch per thread or
  // interleaved blocks, with and without prefetching).
  double GigabytesPerSecond(KernelContext& context);

 private:
  AlignedBuffer memory_;
};

}  // namespace saccade
