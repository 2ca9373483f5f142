// Packing: what goes in comes out, within the precision of the weight type.
#include "kernels/layout.h"
#include "kernels/quantize/quantize.h"
#include "kernels/registry.h"
#include "kernels/test_support.h"

namespace saccade {
namespace {

using testing::Machine;
using testing::OwnedMatrix;
using testing::RandomFloats;

double RoundTripError(WeightType type, int64_t n, int64_t k) {
  Machine machine(Isa::kScalar, 2);
  const std::vector<float> w = RandomFloats(n * k, 5, 0.02F);
  const OwnedMatrix packed(machine.context, type, w, n, k);
  std::vector<float> back(w.size());
  for (int64_t row = 0; row < n; ++row) UnpackRow(packed.matrix, row, back.data() + row * k);
  return testing::RelativeError(back, w);
}

TEST(PackTest, RoundTripErrorOnGaussianWeights) {
  EXPECT_EQ(RoundTripError(WeightType::kF32, 269, 130), 0.0);
  EXPECT_LT(RoundTripError(WeightType::kBf16, 269, 130), testing::kEpsBf16);
  EXPECT_LT(RoundTripError(WeightType::kInt8, 512, 512), 0.006);
  EXPECT_LT(RoundTripError(WeightType::kInt4, 512, 512), 0.0805);
}

TEST(PackTest, StackedRowsLieBelowEachOther) {
  Machine machine(Isa::kScalar);
  const std::vector<float> a = RandomFloats(40 * 24, 1), b = RandomFloats(7 * 24, 2),
                           c = RandomFloats(33 * 24, 3);
  const std::array views = {testing::ViewOf(a, {40, 24}), testing::ViewOf(b, {7, 24}),
                            testing::ViewOf(c, {33, 24})};
  AlignedBuffer memory(PackedBytes(WeightType::kF32, 80, 24));
  const PackedMatrix packed = PackStacked(machine.context, WeightType::kF32, views, memory.data());
  ASSERT_EQ(packed.n, 80);
  std::vector<float> all = a, row(24);
  all.insert(all.end(), b.begin(), b.end());
  all.insert(all.end(), c.begin(), c.end());
  for (int64_t i = 0; i < 80; ++i) {
    UnpackRow(packed, i, row.data());
    ASSERT_TRUE(std::equal(row.begin(), row.end(), all.begin() + i * 24)) << i;
  }
}

TEST(PackTest, GateUpRowsComeBack) {
  Machine machine(Isa::kScalar);
  const std::vector<float> gate = RandomFloats(45 * 9, 1), up = RandomFloats(45 * 9, 2);
  const OwnedMatrix packed(machine.context, WeightType::kF32, gate, up, 45, 9);
  ASSERT_EQ(packed.matrix.n, 90);
  std::vector<float> row(9);
  for (int64_t i = 0; i < 90; ++i) {
    UnpackRow(packed.matrix, i, row.data());
    const std::vector<float>& source = i < 45 ? gate : up;
    ASSERT_TRUE(std::equal(row.begin(), row.end(), source.begin() + i % 45 * 9)) << i;
  }
}

TEST(PackTest, HalfPrecisionSourcesAreReadExactly) {
  Machine machine(Isa::kScalar);
  std::vector<uint16_t> bits = {0x3f80, 0xbf00, 0x4000, 0x3e80};  // bf16 1, -0.5, 2, 0.25
  AlignedBuffer memory(PackedBytes(WeightType::kF32, 2, 2));
  const TensorView view{DType::kBf16, {2, 2}, std::as_bytes(std::span(bits))};
  const PackedMatrix packed = PackMatrix(machine.context, WeightType::kF32, view, memory.data());
  std::vector<float> row(2);
  UnpackRow(packed, 1, row.data());
  EXPECT_EQ(row, (std::vector<float>{2.0F, 0.25F}));
}

TEST(QuantizeTest, ActivationsOfZerosAndBrokenValues) {
  std::array<float, 4> x{};
  std::array<int8_t, 4> q;
  EXPECT_EQ(QuantizeActivations(x.data(), 4, q.data()), 0.0F);
  x[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(QuantizeActivations(x.data(), 4, q.data())));
  x = {1.0F, -2.0F, 0.5F, 2.0F};
  EXPECT_FLOAT_EQ(QuantizeActivations(x.data(), 4, q.data()), 2.0F / 127.0F);
  EXPECT_EQ(q[1], -127);
  EXPECT_EQ(q[3], 127);
}

TEST(QuantizeTest, WeightGroupsOfOneValueAreNearlyExact) {
  std::array<float, kGroupSize> w;
  w.fill(-0.37F);
  std::array<int8_t, kGroupSize> codes8;
  const float scale8 = QuantizeInt8Group(w.data(), codes8.data());
  EXPECT_NEAR(scale8 * static_cast<float>(codes8[5]), -0.37F, 0.37F * 0.005F);
  std::array<uint8_t, kGroupSize> codes4;
  const float scale4 = QuantizeInt4Group(w.data(), codes4.data());
  EXPECT_NEAR(scale4 * static_cast<float>(kInt4Levels[codes4[5]]), -0.37F, 0.37F * 0.02F);
}

TEST(QuantizeTest, EveryIsaTriesScalesAlike) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 2000; ++round) {
    std::array<float, kGroupSize> w;
    for (float& value : w) value = normal(random) * (round % 3 == 0 ? 1.0F : 0.01F);
    if (round % 7 == 0) w[static_cast<size_t>(round % kGroupSize)] *= 30.0F;  // an outlier
    std::array<int8_t, kGroupSize> codes8, expected8;
    std::array<uint8_t, kGroupSize> codes4, expected4;
    const float scale8 = QuantizeInt8Group(w.data(), expected8.data());
    const float scale4 = QuantizeInt4Group(w.data(), expected4.data());
    for (const Isa isa : UsableIsas()) {
      const KernelSet& kernels = KernelsFor(isa);
      if (kernels.try_scale_int8 != nullptr) {
        EXPECT_EQ(QuantizeInt8Group(w.data(), codes8.data(), kernels.try_scale_int8), scale8) << IsaName(isa);
        EXPECT_EQ(codes8, expected8);
      }
      if (kernels.try_scale_int4 != nullptr) {
        EXPECT_EQ(QuantizeInt4Group(w.data(), codes4.data(), kernels.try_scale_int4), scale4) << IsaName(isa);
        EXPECT_EQ(codes4, expected4);
      }
    }
  }
}

TEST(QuantizeTest, BrokenWeightsGiveNan) {
  std::array<float, kGroupSize> w{};
  w[3] = std::numeric_limits<float>::infinity();
  std::array<int8_t, kGroupSize> codes;
  EXPECT_TRUE(std::isnan(QuantizeInt8Group(w.data(), codes.data())));
}

}  // namespace
}  // namespace saccade
