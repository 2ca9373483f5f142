#include "base/cpu.h"

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

class ForcedIsa : public ::testing::Test {
 protected:
  ForcedIsa() {
    if (const char* value = std::getenv("SACCADE_FORCE_ISA")) before_ = value;
  }
  ~ForcedIsa() override {
    if (before_.empty()) {
      unsetenv("SACCADE_FORCE_ISA");
    } else {
      setenv("SACCADE_FORCE_ISA", before_.c_str(), 1);
    }
  }
  std::string before_;
};

TEST_F(ForcedIsa, NamesRoundTrip) {
  for (Isa isa : {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Vnni, Isa::kAvx512Bf16}) {
    EXPECT_EQ(*ParseIsa(IsaName(isa)), isa);
  }
}

TEST_F(ForcedIsa, UnknownNamesAreErrors) {
  setenv("SACCADE_FORCE_ISA", "avx1024", 1);
  EXPECT_THAT(SelectIsa(), FailsWith(StatusCode::kInvalidArgument, HasSubstr("avx1024")));
}

TEST_F(ForcedIsa, ForcesEveryUsableOneAndRefusesTheOthers) {
  for (Isa isa : UsableIsas()) {
    setenv("SACCADE_FORCE_ISA", std::string(IsaName(isa)).c_str(), 1);
    EXPECT_EQ(*SelectIsa(), isa);
  }
  if (DetectIsa() == Isa::kAvx512Bf16) return;
  setenv("SACCADE_FORCE_ISA", "avx512_bf16", 1);
  EXPECT_THAT(SelectIsa(), FailsWith(StatusCode::kInvalidArgument, HasSubstr("offers only")));
}

TEST_F(ForcedIsa, UnsetMeansTheBest) {
  unsetenv("SACCADE_FORCE_ISA");
  EXPECT_EQ(*SelectIsa(), DetectIsa());
  EXPECT_EQ(UsableIsas().back(), DetectIsa());
  EXPECT_FALSE(CpuModelName().empty());
}

TEST(DetectIsa, AgreesWithTheKernel) {
  std::ifstream cpuinfo("/proc/cpuinfo");
  std::string line, flags;
  while (std::getline(cpuinfo, line)) {
    if (line.rfind("flags", 0) == 0) flags = line + " ";
  }
  if (flags.empty()) GTEST_SKIP() << "no flags line in /proc/cpuinfo";
  const auto has = [&flags](const std::string& name) {
    return flags.find(" " + name + " ") != std::string::npos;
  };
  EXPECT_EQ(DetectIsa() >= Isa::kAvx2, has("avx2") && has("fma") && has("f16c") && has("bmi2"));
  if (DetectIsa() >= Isa::kAvx2) {
    EXPECT_EQ(DetectIsa() >= Isa::kAvx512,
              has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl"));
  }
  if (DetectIsa() >= Isa::kAvx512Vnni) {
    EXPECT_TRUE(has("avx512_vnni"));
  }
}

}  // namespace
}  // namespace saccade
