// VisionAttention() on every ISA against the reference loops.
#include <algorithm>
#include <array>

#include "kernels/registry.h"
#include "kernels/test_support.h"

namespace saccade {
namespace {

using testing::kEpsBf16;
using testing::kEpsF32;
using testing::Machine;
using testing::RandomFloats;

// q, k and v side by side in rows of one buffer that starts off any vector boundary.
struct Pictures {
  Pictures(std::vector<int64_t> starts_, int heads_, int head_dim_, uint32_t seed)
      : starts(std::move(starts_)),
        heads(heads_),
        head_dim(head_dim_),
        width(int64_t{heads_} * head_dim_),
        stride(3 * width + 1),
        qkv(RandomFloats(starts.back() * stride + 1, seed)) {}

  std::vector<float> Run(Isa isa, bool bf16, int threads = 2) const {
    Machine machine(isa, threads);
    std::vector<float> out(static_cast<size_t>(starts.back() * width + 1), -7.0F);
    const float* q = qkv.data() + 1;
    VisionAttention(machine.context, q, q + width, q + 2 * width, stride, starts, heads, head_dim, bf16,
                    out.data() + 1);
    EXPECT_EQ(out[0], -7.0F);
    return out;
  }

  std::vector<int64_t> starts;
  int heads, head_dim;
  int64_t width, stride;
  std::vector<float> qkv;
};

// Values are standard normal: a dot product of two heads has norm sqrt(d) * sqrt(d), scores a variance of 1.
// An error of the scores is a relative one of the probabilities; outputs are averages of values up to
// about 5.
double Tolerance(int head_dim, double epsilon) {
  const double score = epsilon == kEpsBf16 ? 6.0 : std::sqrt(static_cast<double>(head_dim)) * 8.0;
  return epsilon * (score + 8.0) * 2.0;
}

void ExpectClose(const Pictures& pictures, bool bf16) {
  const std::vector<float> expected = pictures.Run(Isa::kScalar, false);
  for (Isa isa : UsableIsas()) {
    const bool rounds = bf16 && KernelsFor(isa).attention_bf16.scores != nullptr;
    const std::vector<float> actual = pictures.Run(isa, bf16);
    const double tolerance = Tolerance(pictures.head_dim, rounds ? kEpsBf16 : kEpsF32);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(actual[i], expected[i], tolerance)
          << IsaName(isa) << " at " << i << " dim " << pictures.head_dim;
    }
    if (!rounds) {
      ASSERT_LT(testing::RelativeError(actual, expected), 1e-5) << IsaName(isa);
    }
  }
}

TEST(VisionAttentionTest, HeadSizesMatchReference) {
  for (int head_dim : {4, 15, 16, 20, 32, 64, 72, 80, 128}) {
    for (bool bf16 : {false, true}) {
      ExpectClose(Pictures({0, 61}, 3, head_dim, static_cast<uint32_t>(head_dim)), bf16);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(VisionAttentionTest, PictureSizesMatchReference) {
  for (int64_t patches : {1, 2, 12, 13, 15, 16, 17, 31, 33, 48, 49, 127, 128, 129, 255, 257, 400}) {
    for (bool bf16 : {false, true}) {
      ExpectClose(Pictures({0, patches}, 2, 32, static_cast<uint32_t>(patches)), bf16);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(VisionAttentionTest, PicturesOfAGroupDoNotSeeEachOther) {
  ExpectClose(Pictures({0, 40, 40, 41, 170}, 2, 64, 5), false);
  const Pictures group({0, 40, 90}, 1, 16, 5);
  Pictures changed = group;
  for (int64_t i = 40 * group.stride + 1; i < static_cast<int64_t>(changed.qkv.size()); ++i) {
    changed.qkv[static_cast<size_t>(i)] += 1.0F;
  }
  for (Isa isa : UsableIsas()) {
    const std::vector<float> a = group.Run(isa, true), b = changed.Run(isa, true);
    EXPECT_TRUE(std::equal(a.begin(), a.begin() + 1 + 40 * group.width, b.begin())) << IsaName(isa);
  }
}

TEST(VisionAttentionTest, LargeScoresDoNotOverflow) {
  Pictures pictures({0, 70}, 1, 64, 8);
  for (float& value : pictures.qkv) value *= 40.0F;
  const std::vector<float> expected = pictures.Run(Isa::kScalar, false);
  for (Isa isa : UsableIsas()) {
    const std::vector<float> actual = pictures.Run(isa, false);
    EXPECT_LT(testing::RelativeError(actual, expected), 1e-3)
        << IsaName(isa);  // scores of 1600 have an ulp of 1e-4
  }
}

TEST(VisionAttentionTest, ThreadCountDoesNotChangeABit) {
  const Pictures pictures({0, 150, 333}, 3, 72, 4);
  for (Isa isa : UsableIsas()) {
    for (bool bf16 : {false, true}) {
      const std::vector<float> one = pictures.Run(isa, bf16, 1);
      for (int threads = 2; threads <= 4; ++threads)
        ASSERT_EQ(pictures.Run(isa, bf16, threads), one) << IsaName(isa);
    }
  }
}

TEST(VisionAttentionTest, SlicesGiveTheWholeBitForBit) {
  const Pictures pictures({0, 60, 400}, 5, 72, 12);
  const float* q = pictures.qkv.data() + 1;
  const int64_t width = pictures.width;
  for (Isa isa : UsableIsas()) {
    const std::vector<float> whole = pictures.Run(isa, true);
    for (int64_t rows : {1, 50, 96, 340}) {
      Machine machine(isa, 2);
      std::vector<float> out(whole.size(), -7.0F);
      for (size_t i = 0; i + 1 < pictures.starts.size(); ++i) {
        const int64_t begin = pictures.starts[i], end = pictures.starts[i + 1];
        for (int head = 0; head < 5; head += 2) {
          for (int64_t row = 0; row < end - begin; row += rows) {
            const VisionSlice slice{
                begin, end, head, std::min(2, 5 - head), row, std::min(rows, end - begin - row)};
            VisionAttentionSlice(machine.context, q, q + width, q + 2 * width, pictures.stride, slice, 5, 72,
                                 true, out.data() + 1);
          }
        }
      }
      ASSERT_EQ(out, whole) << IsaName(isa) << " rows " << rows;
    }
  }
}

TEST(VisionAttentionTest, NanStaysInItsHead) {
  for (int64_t column : {int64_t{3}, int64_t{2 * 16 + 3}, int64_t{4 * 16 + 3}}) {  // q, k, v of head 0
    Pictures pictures({0, 50}, 2, 16, 4);
    pictures.qkv[static_cast<size_t>(1 + 20 * pictures.stride + column)] =
        std::numeric_limits<float>::quiet_NaN();
    for (Isa isa : UsableIsas()) {
      for (bool bf16 : {false, true}) {
        const std::vector<float> out = pictures.Run(isa, bf16);
        const bool everywhere = column >= 32;  // every query sees the broken key or value
        for (int64_t row = 0; row < 50; ++row) {
          const float* head = out.data() + 1 + row * 32;
          EXPECT_EQ(std::isnan(head[3]), everywhere || row == 20) << IsaName(isa) << " column " << column;
          EXPECT_FALSE(std::isnan(head[16]));
        }
      }
    }
  }
}

TEST(VisionAttentionTest, ScratchIsLinearInPatches) {
  for (Isa isa : UsableIsas()) {
    if (isa == Isa::kScalar) continue;
    Machine machine(isa, 2);
    const int64_t patches = 3000, width = 2 * 64;
    const std::vector<float> qkv = RandomFloats(patches * 3 * width, 1);
    std::vector<float> out(static_cast<size_t>(patches * width));
    const std::array<int64_t, 2> starts = {0, patches};
    VisionAttention(machine.context, qkv.data(), qkv.data() + width, qkv.data() + 2 * width, 3 * width,
                    starts, 2, 64, true, out.data());
    EXPECT_LT(machine.context.scratch_bytes(), static_cast<size_t>(patches * 2 * 2 * 64 * 4 + (1 << 20)));
  }
}

}  // namespace
}  // namespace saccade
