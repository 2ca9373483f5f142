// Which instruction sets this processor and operating system offer, and which one the kernels should use.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

// Kernel families from slowest to fastest; each contains the ones before it.
enum class Isa : int { kScalar = 0, kAvx2, kAvx512, kAvx512Vnni, kAvx512Bf16 };
inline constexpr int kIsaCount = 5;

// "scalar", "avx2", "avx512", "avx512_vnni", "avx512_bf16": the values of SACCADE_FORCE_ISA.
std::string_view IsaName(Isa isa);
Result<Isa> ParseIsa(std::string_view name);

// The best ISA that cpuid and xgetbv report (registers enabled by the OS included). Constant for the process.
Isa DetectIsa();

// DetectIsa(), or what SACCADE_FORCE_ISA names. An unknown name, or one this CPU lacks, is an error: a test
// that forces an ISA must never silently run another one.
Result<Isa> SelectIsa();

// Every ISA usable here, slowest first; for tests that run over all of them.
std::vector<Isa> UsableIsas();

// "AMD EPYC 9354" or whatever the processor calls itself; "unknown processor" when it does not.
std::string CpuModelName();

}  // namespace saccade
