// Declarations of every micro-kernel, expanded from kernels.inc. Included by ISA files: plain data only.
#pragma once

#include "kernels/tile.h"

namespace saccade {

#define SACCADE_GEMM(isa, weights, activations, rows, most_rows, name) void name(const GemmTile& tile);
#define SACCADE_KERNEL(isa, slot, Args, name) void name(const Args& args);
#include "kernels/kernels.inc"
#undef SACCADE_GEMM
#undef SACCADE_KERNEL

}  // namespace saccade
