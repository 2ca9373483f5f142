// The kernel table: complete for every SIMD ISA, and no kernel without a test.
#include "kernels/registry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "kernels/test_support.h"

namespace saccade {
namespace {

TEST(RegistryTest, EverySimdIsaHasEveryOperation) {
  for (Isa isa : UsableIsas()) {
    if (isa == Isa::kScalar) continue;
    const KernelSet& set = KernelsFor(isa);
    for (const GemmEntry& gemm : set.gemm) {
      EXPECT_NE(gemm.run, nullptr) << IsaName(isa);
      EXPECT_GT(gemm.tile_rows, 0);
      EXPECT_TRUE(gemm.activations != ActivationFormat::kBf16 || set.round_row != nullptr);
    }
    EXPECT_TRUE(set.strip && set.quantize_row && set.rms_norm && set.layer_norm && set.norm_rope && set.add);
    EXPECT_TRUE(set.attention_f32.scores && set.attention_f32.softmax && set.attention_f32.values);
    EXPECT_TRUE(set.unpack_bf16_f32 && set.unpack_int8_f32);
  }
}

TEST(RegistryTest, ScalarHasNone) { EXPECT_TRUE(ActiveKernels(Isa::kScalar).empty()); }

// The other tests go through KernelsFor() of every usable ISA: a kernel is covered when it is active for its
// own.
TEST(RegistryTest, EveryKernelOfAUsableIsaIsActiveOnIt) {
  for (const KernelInfo& kernel : AllKernels()) {
    if (kernel.isa > DetectIsa()) continue;
    const std::vector<KernelInfo> active = ActiveKernels(kernel.isa);
    EXPECT_TRUE(std::any_of(active.begin(), active.end(), [&kernel](const KernelInfo& other) {
      return other.name == kernel.name;
    })) << kernel.name;
  }
}

TEST(RegistryTest, NamesAreUniqueAndEndInTheirIsa) {
  std::set<std::string> names;
  for (const KernelInfo& kernel : AllKernels()) {
    EXPECT_TRUE(names.insert(std::string(kernel.name)).second) << kernel.name;
    std::string suffix(IsaName(kernel.isa));
    std::erase(suffix, '_');
    EXPECT_TRUE(kernel.name.ends_with("_" + suffix)) << kernel.name;
  }
}

TEST(RegistryTest, DescribeNamesTheKernels) {
  for (Isa isa : UsableIsas()) {
    testing::Machine machine(isa);
    const std::vector<std::string> lines = machine.context.Describe();
    ASSERT_FALSE(lines.empty());
    if (isa == Isa::kScalar) continue;
    EXPECT_NE(lines[0].find("gemm_f32_f32"), std::string::npos) << lines[0];
  }
}

}  // namespace
}  // namespace saccade
