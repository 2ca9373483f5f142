#include "kernels/registry.h"

#include <algorithm>

#include "kernels/kernel_list.h"

namespace saccade {
namespace {

KernelSet MakeSet([[maybe_unused]] Isa target) {
  KernelSet set;
#define SACCADE_GEMM(isa, weights, format, rows, most_rows, name)                                           \
  if (Isa::isa <= target) {                                                                                 \
    set.gemm[static_cast<size_t>(WeightType::weights)] = {name, ActivationFormat::format, rows, most_rows}; \
  }
#define SACCADE_KERNEL(isa, slot, Args, name) \
  if (Isa::isa <= target) set.slot = name;
#include "kernels/kernels.inc"
#undef SACCADE_GEMM
#undef SACCADE_KERNEL
  return set;
}

std::array<KernelSet, kIsaCount> MakeSets() {
  std::array<KernelSet, kIsaCount> sets;
  for (int i = 0; i < kIsaCount; ++i) sets[static_cast<size_t>(i)] = MakeSet(static_cast<Isa>(i));
  return sets;
}

}  // namespace

const KernelSet& KernelsFor(Isa isa) {
  static const std::array<KernelSet, kIsaCount> sets = MakeSets();
  return sets[static_cast<size_t>(isa)];
}

std::vector<KernelInfo> AllKernels() {
  return {
#define SACCADE_GEMM(isa, weights, format, rows, most_rows, name) {Isa::isa, "gemm " #weights, #name},
#define SACCADE_KERNEL(isa, slot, Args, name) {Isa::isa, #slot, #name},
#include "kernels/kernels.inc"
#undef SACCADE_GEMM
#undef SACCADE_KERNEL
  };
}

std::vector<KernelInfo> ActiveKernels(Isa isa) {
  std::vector<KernelInfo> active;
  for (const KernelInfo& kernel : AllKernels()) {
    if (kernel.isa > isa) continue;
    const auto same = std::find_if(active.begin(), active.end(),
                                   [&kernel](const KernelInfo& other) { return other.slot == kernel.slot; });
    if (same != active.end()) {
      *same = kernel;
    } else {
      active.push_back(kernel);
    }
  }
  return active;
}

}  // namespace saccade
