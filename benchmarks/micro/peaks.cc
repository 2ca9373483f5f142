#include "benchmarks/micro/peaks.h"

#include <time.h>

#include <atomic>
#include <cstring>

namespace saccade {
namespace {

// Wall clock; with one thread CPU time, which other processes on the machine do not disturb.
double Now(const ThreadPool& pool) {
  timespec time{};
  clock_gettime(pool.threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Sum of the 64-bit words of a stretch, wide enough that the loads set the pace.
uint64_t SumOf(const std::byte* data, size_t bytes) {
  uint64_t sums[8] = {};
  for (size_t i = 0; i + 64 <= bytes; i += 64) {
    uint64_t words[8];
    std::memcpy(words, data + i, 64);
    for (int j = 0; j < 8; ++j) sums[j] ^= words[j];
  }
  uint64_t total = 0;
  for (uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

double PeakGops(ThreadPool& pool, Isa isa, WeightType type) {
  constexpr int64_t kIterations = 300000;
  void (*loop)(int64_t) = nullptr;
  double ops = 0.0;  // per instruction
  const bool quantised = type == WeightType::kInt8 || type == WeightType::kInt4;
  if (isa == Isa::kAvx512Bf16) {
    loop = quantised                   ? peak_int8_avx512bf16
           : type == WeightType::kBf16 ? peak_bf16_avx512bf16
                                       : peak_fma_avx512bf16;
    ops = quantised ? 128 : type == WeightType::kBf16 ? 64 : 32;
  } else if (isa == Isa::kAvx2 && !quantised) {
    loop = peak_fma_avx2;
    ops = 16;
  }
  if (loop == nullptr) return 0.0;
  const double start = Now(pool);
  pool.Run([loop](int) { loop(kIterations); });
  return ops * kPeakInstructions * static_cast<double>(kIterations) * pool.threads() / (Now(pool) - start) /
         1e9;
}

double ReadBandwidth(ThreadPool& pool, const std::byte* data, size_t bytes) {
  const size_t part = bytes / static_cast<size_t>(pool.threads()) / 64 * 64;
  std::atomic<uint64_t> sink{0};
  const double start = Now(pool);
  pool.Run([&](int worker) { sink += SumOf(data + static_cast<size_t>(worker) * part, part); });
  return static_cast<double>(part) * pool.threads() / (Now(pool) - start) / 1e9;
}

}  // namespace saccade
