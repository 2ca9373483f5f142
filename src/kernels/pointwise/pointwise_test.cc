// Norms, rotary embedding, addition and the activations of the epilogue on every ISA.
#include <array>

#include "kernels/kernel_list.h"
#include "kernels/reference.h"
#include "kernels/registry.h"
#include "kernels/test_support.h"

namespace saccade {
namespace {

using testing::Machine;
using testing::RandomFloats;

constexpr std::array<int64_t, 13> kWidths = {1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 269, 2048};

TEST(PointwiseTest, NormsMatchReference) {
  for (int64_t width : kWidths) {
    const std::vector<float> x = RandomFloats(5 * width + 1, 1, 3.0F), w = RandomFloats(width, 2),
                             b = RandomFloats(width, 3);
    std::vector<float> rms(static_cast<size_t>(5 * width)), layer(rms.size());
    for (int64_t row = 0; row < 5; ++row) {
      reference::RmsNormRow(x.data() + 1 + row * width, width, w.data(), 1e-6F, rms.data() + row * width);
      reference::LayerNormRow(x.data() + 1 + row * width, width, w.data(), b.data(), 1e-6F,
                              layer.data() + row * width);
    }
    for (Isa isa : UsableIsas()) {
      Machine machine(isa, 2);
      std::vector<float> out(rms.size());
      RmsNorm(machine.context, x.data() + 1, 5, width, w.data(), 1e-6F, out.data());
      EXPECT_LT(testing::RelativeError(out, rms), 1e-6) << IsaName(isa) << " width " << width;
      std::vector<float> in_place(x.begin() + 1, x.end());
      RmsNorm(machine.context, in_place.data(), 5, width, w.data(), 1e-6F, in_place.data());
      EXPECT_EQ(in_place, out);
      LayerNorm(machine.context, x.data() + 1, 5, width, w.data(), b.data(), 1e-6F, out.data());
      EXPECT_LT(testing::RelativeError(out, layer), 2e-6) << IsaName(isa) << " width " << width;
    }
  }
}

TEST(PointwiseTest, NormRopeMatchesReference) {
  for (int head_dim : {2, 20, 32, 64, 72, 128}) {
    for (bool norm : {false, true}) {
      const int64_t stride = 3 * head_dim + 5;
      const std::vector<float> x = RandomFloats(4 * stride, 1), angles = RandomFloats(4 * head_dim / 2, 2);
      const std::vector<float> w = RandomFloats(head_dim, 3);
      std::vector<float> cos, sin;
      for (float angle : angles) {
        cos.push_back(std::cos(angle));
        sin.push_back(std::sin(angle));
      }
      const float* weight = norm ? w.data() : nullptr;
      std::vector<float> expected = x;
      Machine scalar(Isa::kScalar);
      NormRope(scalar.context, expected.data(), 4, stride, 3, head_dim, weight, 1e-6F, cos.data(),
               sin.data());
      for (Isa isa : UsableIsas()) {
        Machine machine(isa, 2);
        std::vector<float> actual = x;
        NormRope(machine.context, actual.data(), 4, stride, 3, head_dim, weight, 1e-6F, cos.data(),
                 sin.data());
        EXPECT_LT(testing::RelativeError(actual, expected), 1e-6) << IsaName(isa) << " head_dim " << head_dim;
        EXPECT_EQ(actual[static_cast<size_t>(3 * head_dim)], x[static_cast<size_t>(3 * head_dim)]);
      }
    }
  }
}

TEST(PointwiseTest, AddTouchesNothingElse) {
  for (int64_t count : {int64_t{1}, int64_t{15}, int64_t{17}, int64_t{16384}, int64_t{40001}}) {
    const std::vector<float> x = RandomFloats(count + 2, 1), before = RandomFloats(count + 2, 2);
    for (Isa isa : UsableIsas()) {
      Machine machine(isa, 3);
      std::vector<float> out = before;
      AddInPlace(machine.context, x.data() + 1, count, out.data() + 1);
      for (int64_t i = 0; i < count + 2; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_EQ(out[at], i == 0 || i == count + 1 ? before[at] : before[at] + x[at]) << IsaName(isa);
      }
    }
  }
}

TEST(PointwiseTest, NanAndInfinityInANormAreNotSwallowed) {
  const std::vector<float> w(40, 1.0F), b(40, 0.5F);
  std::vector<float> x = RandomFloats(80, 1);
  x[45] = std::numeric_limits<float>::quiet_NaN();
  for (Isa isa : UsableIsas()) {
    Machine machine(isa);
    std::vector<float> out(80);
    RmsNorm(machine.context, x.data(), 2, 40, w.data(), 1e-6F, out.data());
    for (size_t i = 0; i < 80; ++i) ASSERT_EQ(std::isnan(out[i]), i >= 40) << IsaName(isa);
    LayerNorm(machine.context, x.data(), 2, 40, w.data(), b.data(), 1e-6F, out.data());
    for (size_t i = 0; i < 80; ++i) ASSERT_EQ(std::isnan(out[i]), i >= 40) << IsaName(isa);
  }
}

// out = op(c) for every c, through the strip kernel of the ISA.
std::vector<float> Activate(Isa isa, StripOp op, const std::vector<float>& c) {
  std::vector<float> out(c.size());
  AlignedBuffer strip(2 * kBlockColumns * sizeof(float));
  for (size_t first = 0; first < c.size(); first += kBlockColumns) {
    const auto columns = static_cast<int64_t>(std::min<size_t>(kBlockColumns, c.size() - first));
    for (int64_t i = 0; i < columns; ++i) strip.floats()[i] = c[first + static_cast<size_t>(i)];
    std::fill_n(strip.floats() + kBlockColumns, kBlockColumns, 1.0F);
    const StripTile tile{
        strip.floats(), 2 * kBlockColumns, 1, columns, nullptr, nullptr, op, out.data() + first, 0};
    KernelsFor(isa).strip(tile);
  }
  return out;
}

TEST(PointwiseTest, ActivationsAreAccurateOverTheirRange) {
  std::vector<float> c;
  for (int i = -4000; i <= 4000; ++i) c.push_back(static_cast<float>(i) * 0.0031F);
  for (float x :
       {-1e30F, -300.0F, -88.0F, -40.0F, -1e-6F, -0.0F, 0.0F, 1e-20F, 1e-6F, 40.0F, 88.0F, 300.0F, 1e30F})
    c.push_back(x);
  for (Isa isa : UsableIsas()) {
    if (KernelsFor(isa).strip == nullptr) continue;
    const auto check = [&](StripOp op, float (*oracle)(float), double relative) {
      const std::vector<float> out = Activate(isa, op, c);
      for (size_t i = 0; i < c.size(); ++i) {
        const double expected = oracle(c[i]);
        // Far in the negative tail, where the result vanishes beside its input, an absolute error counts.
        ASSERT_NEAR(out[i], expected,
                    relative * std::abs(expected) + 1e-7 * std::min(1.0, std::abs(double{c[i]})))
            << IsaName(isa) << " op " << static_cast<int>(op) << " at " << c[i];
      }
    };
    check(StripOp::kSwiGlu, reference::Silu, 1e-6);
    check(StripOp::kGeluTanh, reference::GeluTanh, 1e-6);
    check(StripOp::kGeluErf, reference::GeluErf, 1e-6);
  }
}

}  // namespace
}  // namespace saccade
