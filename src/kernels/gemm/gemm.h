// Linear() over micro-kernels: cuts the product into tiles, converts activations once, spreads strips over
// threads.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"
#include "kernels/registry.h"

namespace saccade {

struct LinearCall {
  const float* x;
  int64_t rows;
  int64_t x_stride;
  const PackedMatrix* weight;
  const float* bias;
  Epilogue epilogue;
  float* out;
  int64_t out_stride;
};

// The arguments are those of Linear(). `kernels` must have the entry for the weight type.
void RunLinear(KernelContext& context, const KernelSet& kernels, const LinearCall& call);

}  // namespace saccade
