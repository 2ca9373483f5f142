// Which micro-kernels serve an ISA. The only place that turns kernels.inc into function pointers.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/cpu.h"
#include "kernels/kernels.h"
#include "kernels/tile.h"

namespace saccade {

struct GemmEntry {
  void (*run)(const GemmTile&) = nullptr;
  ActivationFormat activations = ActivationFormat::kF32;
  int tile_rows = 0;  // fastest when there are many
  int most_rows = 0;  // that one call takes: with few rows, fewer passes over the weights
};

// The three steps of attention on tiles of one element type.
struct AttentionKernels {
  void (*scores)(const ScoreTile&) = nullptr;
  void (*softmax)(const SoftmaxTile&) = nullptr;
  void (*values)(const ValueTile&) = nullptr;
};

// Loops that measure the limits of the processor (kernels/peaks).
struct PeakKernels {
  void (*f32)(const PeakLoop&) = nullptr;
  void (*bf16)(const PeakLoop&) = nullptr;
  void (*int8)(const PeakLoop&) = nullptr;
};

// Null members mean that the ISA has no such kernel: the caller takes the reference loops instead.
struct KernelSet {
  std::array<GemmEntry, 4> gemm;  // by WeightType
  void (*strip)(const StripTile&) = nullptr;
  void (*quantize_row)(const RowConversion&) = nullptr;
  void (*round_row)(const RowConversion&) = nullptr;
  void (*decode_int4)(const BlockDecoding&) = nullptr;
  void (*try_scale_int8)(const ScaleTrial&) = nullptr;
  void (*try_scale_int4)(const ScaleTrial&) = nullptr;
  void (*rms_norm)(const NormRow&) = nullptr;
  void (*layer_norm)(const NormRow&) = nullptr;
  void (*norm_rope)(const RopeRow&) = nullptr;
  void (*add)(const Addition&) = nullptr;
  AttentionKernels attention_f32;
  AttentionKernels attention_bf16;
  void (*unpack_bf16_f32)(const PageUnpacking&) = nullptr;
  void (*unpack_int8_f32)(const PageUnpacking&) = nullptr;
  void (*unpack_int8_bf16)(const PageUnpacking&) = nullptr;
  PeakKernels peak;
  void (*read)(const ReadStretch&) = nullptr;
};

// Constant for the process.
const KernelSet& KernelsFor(Isa isa);

// One line of kernels.inc.
struct KernelInfo {
  Isa isa;
  std::string_view slot;  // "gemm kInt8", "strip"
  std::string_view name;
};
std::vector<KernelInfo> AllKernels();
// The lines that KernelsFor(isa) consists of.
std::vector<KernelInfo> ActiveKernels(Isa isa);

}  // namespace saccade
