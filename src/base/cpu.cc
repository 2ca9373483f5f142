#include "base/cpu.h"

#include <array>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace saccade {
namespace {

constexpr std::array<std::string_view, kIsaCount> kIsaNames = {"scalar", "avx2", "avx512", "avx512_vnni",
                                                               "avx512_bf16"};

#if defined(__x86_64__)
struct Cpuid {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Cpuid QueryCpuid(unsigned leaf, unsigned subleaf) {
  Cpuid r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) return {};
  return r;
}

// XCR0: which register files the operating system saves. Only valid when OSXSAVE is set.
uint64_t ReadXcr0() {
  unsigned low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

bool Bit(unsigned word, int bit) { return ((word >> bit) & 1U) != 0; }

Isa DetectIsaUncached() {
  const Cpuid basic = QueryCpuid(1, 0);
  const bool osxsave = Bit(basic.ecx, 27);
  if (!osxsave) return Isa::kScalar;
  const uint64_t xcr0 = ReadXcr0();
  const bool os_avx = (xcr0 & 0x6) == 0x6;
  const bool os_avx512 = (xcr0 & 0xe6) == 0xe6;
  const Cpuid extended = QueryCpuid(7, 0);
  const Cpuid extended1 = QueryCpuid(7, 1);
  const bool fma = Bit(basic.ecx, 12), f16c = Bit(basic.ecx, 29);
  const bool avx2 = Bit(extended.ebx, 5), bmi2 = Bit(extended.ebx, 8);
  if (!(os_avx && fma && f16c && avx2 && bmi2)) return Isa::kScalar;
  const bool avx512 = os_avx512 && Bit(extended.ebx, 16) && Bit(extended.ebx, 17) && Bit(extended.ebx, 30) &&
                      Bit(extended.ebx, 31);  // F, DQ, BW, VL
  if (!avx512) return Isa::kAvx2;
  const bool vnni = Bit(extended.ecx, 11);
  if (!vnni) return Isa::kAvx512;
  const bool bf16 = Bit(extended1.eax, 5);
  return bf16 ? Isa::kAvx512Bf16 : Isa::kAvx512Vnni;
}
#else
Isa DetectIsaUncached() { return Isa::kScalar; }
#endif

}  // namespace

std::string_view IsaName(Isa isa) { return kIsaNames[static_cast<size_t>(isa)]; }

Result<Isa> ParseIsa(std::string_view name) {
  for (int i = 0; i < kIsaCount; ++i) {
    if (kIsaNames[static_cast<size_t>(i)] == name) return static_cast<Isa>(i);
  }
  return InvalidArgument("unknown ISA \"{}\"; known: scalar, avx2, avx512, avx512_vnni, avx512_bf16", name);
}

Isa DetectIsa() {
  static const Isa isa = DetectIsaUncached();
  return isa;
}

Result<Isa> SelectIsa() {
  const char* forced = std::getenv("SACCADE_FORCE_ISA");
  if (forced == nullptr || *forced == '\0') return DetectIsa();
  Result<Isa> isa = ParseIsa(forced);
  if (!isa.ok()) return std::move(isa).status().WithContext("SACCADE_FORCE_ISA");
  if (*isa > DetectIsa()) {
    return InvalidArgument("SACCADE_FORCE_ISA={} but this processor offers only {}", forced,
                           IsaName(DetectIsa()));
  }
  return isa;
}

std::vector<Isa> UsableIsas() {
  std::vector<Isa> isas;
  for (int i = 0; i <= static_cast<int>(DetectIsa()); ++i) isas.push_back(static_cast<Isa>(i));
  return isas;
}

std::string CpuModelName() {
#if defined(__x86_64__)
  std::array<char, 49> brand{};
  if (QueryCpuid(0x80000000U, 0).eax < 0x80000004U) return "unknown processor";
  for (unsigned i = 0; i < 3; ++i) {
    const Cpuid part = QueryCpuid(0x80000002U + i, 0);
    std::memcpy(brand.data() + 16 * i, &part, 16);
  }
  std::string name(brand.data());
  const size_t first = name.find_first_not_of(' ');
  const size_t last = name.find_last_not_of(' ');
  return first == std::string::npos ? "unknown processor" : name.substr(first, last - first + 1);
#else
  return "unknown processor";
#endif
}

}  // namespace saccade
