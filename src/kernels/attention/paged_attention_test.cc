// AppendKv() and PagedAttention() on every ISA and KV type against the reference loops.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/layout.h"
#include "kernels/reference.h"
#include "kernels/registry.h"
#include "kernels/test_support.h"

namespace saccade {
namespace {

using testing::kEpsBf16;
using testing::kEpsF32;
using testing::Machine;
using testing::RandomFloats;

constexpr std::array kTypes = {KvType::kF32, KvType::kBf16, KvType::kInt8};

// Sequences with their own pages in one pool that is full of NaN bits before use.
class Cache {
 public:
  Cache(KvLayout layout, std::vector<int64_t> tokens) : layout_(layout) {
    int64_t pages = 0;
    for (int64_t count : tokens) pages += CeilDiv(count, layout.page_tokens);
    memory_ = AlignedBuffer(static_cast<size_t>(pages) * layout.PageBytes());
    std::memset(memory_.data(), 0xff, memory_.size());
    int64_t next = pages;  // handed out backwards: order in memory must not matter
    for (int64_t count : tokens) {
      std::vector<std::byte*>& list = lists_.emplace_back();
      for (int64_t i = 0; i < CeilDiv(count, layout.page_tokens); ++i) {
        list.push_back(memory_.data() + static_cast<size_t>(--next) * layout.PageBytes());
      }
    }
  }
  KvSegment Segment(size_t sequence, int64_t first_row, int64_t rows, int64_t past) const {
    return {first_row, rows, past, lists_[sequence]};
  }
  const KvLayout& layout() const { return layout_; }

 private:
  KvLayout layout_;
  AlignedBuffer memory_;
  std::vector<std::vector<std::byte*>> lists_;
};

// One step: rows of several segments with random q, k and v.
struct Step {
  Step(const KvLayout& layout, int q_heads_, int64_t rows, uint32_t seed)
      : q_heads(q_heads_),
        q_stride(q_heads_ * layout.head_dim + 1),
        kv_stride(layout.kv_heads * layout.head_dim + 3),
        q(RandomFloats(rows * q_stride + 1, seed)),
        k(RandomFloats(rows * kv_stride, seed + 1)),
        v(RandomFloats(rows * kv_stride, seed + 2)),
        out(static_cast<size_t>(rows * q_heads * layout.head_dim + 1)) {}

  std::vector<float> Run(KernelContext& context, const KvLayout& layout,
                         std::span<const KvSegment> segments) {
    AppendKv(context, layout, segments, k.data(), kv_stride, v.data(), kv_stride);
    PagedAttention(context, layout, segments, q.data() + 1, q_stride, q_heads, out.data() + 1);
    return out;
  }

  int q_heads;
  int64_t q_stride, kv_stride;
  std::vector<float> q, k, v, out;
};

// See vision_attention_test.cc; keys and values are compared as stored, so that only q and the probabilities
// round.
double Tolerance(const KvLayout& layout, Isa isa) {
  const bool rounds = layout.type != KvType::kF32 && KernelsFor(isa).attention_bf16.scores != nullptr;
  const double score = rounds ? 6.0 : std::sqrt(static_cast<double>(layout.head_dim)) * 8.0;
  return (rounds ? kEpsBf16 : kEpsF32) * (score + 8.0) * 2.0;
}

class PagedAttentionTest : public ::testing::TestWithParam<KvType> {};

// Prefill in slices and decode steps of three sequences at once.
void CheckMixedSteps(const KvLayout& layout, int q_heads) {
  std::vector<std::vector<float>> expected;
  for (Isa isa : UsableIsas()) {
    Machine machine(isa, 2);
    const Cache cache(layout, {200, 80, 40});
    std::vector<std::vector<float>> results;
    const auto step = [&](std::vector<KvSegment> segments, int64_t rows) {
      Step run(layout, q_heads, rows, static_cast<uint32_t>(results.size()));
      results.push_back(run.Run(machine.context, layout, segments));
    };
    step({cache.Segment(0, 0, 70, 0), cache.Segment(1, 70, 5, 0)}, 75);
    step({cache.Segment(0, 0, 1, 70), cache.Segment(2, 1, 33, 0), cache.Segment(1, 34, 1, 5)}, 35);
    step({cache.Segment(1, 0, 60, 6), cache.Segment(0, 60, 100, 71)}, 160);
    for (int64_t i = 0; i < 3; ++i) {
      step({cache.Segment(0, 2, 1, 171 + i), cache.Segment(2, 0, 1, 33 + i), cache.Segment(1, 1, 1, 66 + i)},
           3);
    }
    if (isa == Isa::kScalar) expected = results;
    for (size_t s = 0; s < results.size(); ++s) {
      for (size_t i = 0; i < results[s].size(); ++i) {
        ASSERT_NEAR(results[s][i], expected[s][i], Tolerance(layout, isa))
            << IsaName(isa) << " step " << s << " at " << i << " head_dim " << layout.head_dim;
      }
      if (layout.type == KvType::kF32) {
        ASSERT_LT(testing::RelativeError(results[s], expected[s]), 1e-5);
      }
    }
  }
}

TEST_P(PagedAttentionTest, MixedStepsMatchReference) {
  for (int head_dim : {16, 20, 64, 128}) CheckMixedSteps({GetParam(), 2, head_dim, 32}, 4);
}

TEST_P(PagedAttentionTest, PageSizesAndGroupsMatchReference) {
  for (int page_tokens : {16, 64, 128, 256}) CheckMixedSteps({GetParam(), 3, 32, page_tokens}, 3);
  for (int group : {2, 4, 7, 8}) CheckMixedSteps({GetParam(), 2, 32, 64}, 2 * group);
}

TEST_P(PagedAttentionTest, StoredTokensComeBack) {
  Machine machine(Isa::kScalar, 2);
  const KvLayout layout{GetParam(), 2, 20, 16};
  const Cache cache(layout, {40});
  const std::vector<float> k = RandomFloats(40 * 40, 1), v = RandomFloats(40 * 40, 2);
  const KvSegment segment = cache.Segment(0, 0, 40, 0);
  AppendKv(machine.context, layout, std::span(&segment, 1), k.data(), 40, v.data(), 40);
  const double epsilon = GetParam() == KvType::kF32    ? 0.0
                         : GetParam() == KvType::kBf16 ? kEpsBf16
                                                       : 0.5 / 127.0;
  std::vector<float> key(20), value(20);
  for (int64_t token = 0; token < 40; ++token) {
    for (int head = 0; head < 2; ++head) {
      const std::byte* page = segment.pages[static_cast<size_t>(token / 16)];
      reference::ReadKvToken(layout, page, token % 16, head, key.data(), value.data());
      for (int i = 0; i < 20; ++i) {
        const auto index = static_cast<size_t>(token * 40 + head * 20 + i);
        ASSERT_NEAR(key[static_cast<size_t>(i)], k[index], epsilon * 4.5);
        ASSERT_NEAR(value[static_cast<size_t>(i)], v[index], epsilon * 4.5);
      }
    }
  }
}

TEST_P(PagedAttentionTest, SlicesGiveTheSameAsOnePrefill) {
  const KvLayout layout{GetParam(), 2, 64, 64};
  for (Isa isa : UsableIsas()) {
    Machine machine(isa, 2);
    const Cache whole(layout, {90}), sliced(layout, {90});
    Step step(layout, 4, 90, 3);
    const KvSegment all = whole.Segment(0, 0, 90, 0);
    const std::vector<float> expected = step.Run(machine.context, layout, std::span(&all, 1));
    step.out.assign(step.out.size(), 0.0F);
    for (const auto& [first, rows] : {std::pair<int64_t, int64_t>{0, 17}, {17, 1}, {18, 50}, {68, 22}}) {
      const KvSegment slice = sliced.Segment(0, first, rows, first);
      step.Run(machine.context, layout, std::span(&slice, 1));
    }
    EXPECT_EQ(step.out, expected) << IsaName(isa);
  }
}

TEST_P(PagedAttentionTest, OtherSequencesInTheStepDoNotChangeABit) {
  const KvLayout layout{GetParam(), 2, 64, 32};
  for (Isa isa : UsableIsas()) {
    Machine machine(isa, 2);
    const Cache alone(layout, {50, 60}), together(layout, {50, 60});
    Step step(layout, 4, 61, 4);
    const KvSegment one = alone.Segment(0, 0, 1, 0);
    const std::vector<float> expected = step.Run(machine.context, layout, std::span(&one, 1));
    const std::array both = {together.Segment(0, 0, 1, 0), together.Segment(1, 1, 60, 0)};
    const std::vector<float> out = step.Run(machine.context, layout, both);
    EXPECT_TRUE(std::equal(expected.begin(), expected.begin() + 1 + 4 * 64, out.begin())) << IsaName(isa);
  }
}

TEST_P(PagedAttentionTest, ThreadCountDoesNotChangeABit) {
  const KvLayout layout{GetParam(), 2, 64, 32};
  for (Isa isa : UsableIsas()) {
    std::vector<float> expected;
    for (int threads = 1; threads <= 4; ++threads) {
      Machine machine(isa, threads);
      const Cache cache(layout, {100, 60});
      const std::array segments = {cache.Segment(0, 0, 100, 0), cache.Segment(1, 100, 60, 0)};
      Step step(layout, 6, 160, 9);
      const std::vector<float> out = step.Run(machine.context, layout, segments);
      if (threads == 1) expected = out;
      ASSERT_EQ(out, expected) << IsaName(isa);
    }
  }
}

TEST_P(PagedAttentionTest, NanReachesEveryRowThatSeesIt) {
  const KvLayout layout{GetParam(), 1, 32, 16};
  for (Isa isa : UsableIsas()) {
    Machine machine(isa);
    const Cache cache(layout, {40});
    Step step(layout, 2, 40, 2);
    step.v[static_cast<size_t>(20 * step.kv_stride + 5)] = std::numeric_limits<float>::quiet_NaN();
    const KvSegment segment = cache.Segment(0, 0, 40, 0);
    const std::vector<float> out = step.Run(machine.context, layout, std::span(&segment, 1));
    for (int64_t row = 20; row < 40; ++row) {
      EXPECT_TRUE(std::isnan(out[static_cast<size_t>(1 + row * 64 + 5)])) << IsaName(isa) << " row " << row;
    }
    EXPECT_FALSE(std::isnan(out[1 + 10 * 64 + 5])) << IsaName(isa);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PagedAttentionTest, ::testing::ValuesIn(kTypes),
                         [](const auto& info) { return std::string(KvTypeName(info.param)); });

}  // namespace
}  // namespace saccade
