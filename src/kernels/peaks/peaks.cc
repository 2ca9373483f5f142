#include "kernels/peaks/peaks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>

#include "kernels/registry.h"

namespace saccade {
namespace {

double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// The plain loop for an ISA without a kernel: wide enough that the loads set the pace.
void ReadPlainly(const ReadStretch& stretch) {
  const auto* data = static_cast<const std::byte*>(stretch.data);
  uint64_t sums[8] = {};
  for (int64_t i = 0; i + 64 <= stretch.bytes; i += 64) {
    uint64_t words[8];
    std::memcpy(words, data + i, 64);
    for (int j = 0; j < 8; ++j) sums[j] ^= words[j];
  }
  for (uint64_t sum : sums) *stretch.sink ^= sum;
}

struct ReadPattern {
  int64_t block_bytes;  // 0: one stretch per thread
  int64_t prefetch_bytes;
};

double ReadOnce(KernelContext& context, const std::byte* data, int64_t bytes, ReadPattern pattern) {
  const auto read = KernelsFor(context.isa()).read != nullptr ? KernelsFor(context.isa()).read : ReadPlainly;
  const int threads = context.pool().threads();
  const int64_t block = pattern.block_bytes > 0 ? pattern.block_bytes : bytes / threads / 4096 * 4096;
  const int64_t blocks = bytes / block;
  std::atomic<uint64_t> sink{0};
  const auto start = std::chrono::steady_clock::now();
  context.pool().Run([&](int worker) {
    uint64_t own = 0;
    for (int64_t i = worker; i < blocks; i += threads)
      read({data + i * block, block, pattern.prefetch_bytes, &own});
    sink += own;
  });
  return static_cast<double>(blocks * block) / SecondsSince(start) / 1e9;
}

}  // namespace

double PeakGops(KernelContext& context, WeightType type) {
  const PeakKernels& peaks = KernelsFor(context.isa()).peak;
  const bool quantised = type == WeightType::kInt8 || type == WeightType::kInt4;
  const auto loop = quantised                                            ? peaks.int8
                    : type == WeightType::kBf16 && peaks.bf16 != nullptr ? peaks.bf16
                                                                         : peaks.f32;
  if (loop == nullptr) return 0.0;
  constexpr int64_t kIterations = 300000;
  std::atomic<int64_t> operations{0};
  const auto start = std::chrono::steady_clock::now();
  context.pool().Run([&](int) {
    int64_t own = 0;
    loop({kIterations, &own});
    operations += own;
  });
  return static_cast<double>(operations) / SecondsSince(start) / 1e9;
}

ReadProbe::ReadProbe(size_t bytes) : memory_(bytes) {
  if (memory_.ok()) std::memset(memory_.data(), 1, bytes);
}

double ReadProbe::GigabytesPerSecond(KernelContext& context) {
  constexpr ReadPattern kPatterns[] = {{0, 0}, {0, 2048}, {65536, 0}, {65536, 4096}};
  double best = 0.0;
  for (const ReadPattern pattern : kPatterns) {
    best = std::max(best, ReadOnce(context, memory_.data(), static_cast<int64_t>(memory_.size()), pattern));
  }
  return best;
}

}  // namespace saccade
