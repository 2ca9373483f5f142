// What the processor can do at most: loops of nothing but the instruction that a kernel is made of.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/cpu.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"

namespace saccade {

// Runs `iterations` of kPeakInstructions independent instructions. The operands are registers.
inline constexpr int kPeakInstructions = 12;
void peak_fma_avx2(int64_t iterations);
void peak_fma_avx512bf16(int64_t iterations);
void peak_bf16_avx512bf16(int64_t iterations);
void peak_int8_avx512bf16(int64_t iterations);

// Billions of operations per second of all threads for products of this weight type on this ISA: int8 dot
// products, bf16 dot products or f32 multiply-adds. 0 where no loop is written for the ISA.
double PeakGops(ThreadPool& pool, Isa isa, WeightType type);

// GB/s of all threads reading `bytes` of memory once.
double ReadBandwidth(ThreadPool& pool, const std::byte* data, size_t bytes);

}  // namespace saccade
