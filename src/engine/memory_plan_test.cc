#include "engine/memory_plan.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kGiB = int64_t{1} << 30;

// The 2B architecture.
ModelConfig TwoBillion() {
  ModelConfig config;
  config.text.layers = 28;
  config.text.hidden = 2048;
  config.text.intermediate = 6144;
  config.text.q_heads = 16;
  config.text.kv_heads = 8;
  config.text.head_dim = 128;
  config.text.vocab = 151936;
  config.vision.depth = 24;
  config.vision.hidden = 1024;
  config.vision.heads = 16;
  config.vision.intermediate = 4096;
  config.vision.out_hidden = 2048;
  config.vision.patch_size = 16;
  config.vision.merge_size = 2;
  config.vision.grid_side = 48;
  config.vision.deepstack_layers = {5, 11, 17};
  return config;
}

MemoryNeeds Needs(int64_t limit_bytes) {
  MemoryNeeds needs;
  needs.types = {WeightType::kInt4, WeightType::kInt8};
  needs.context_tokens = 262144;
  needs.largest_picture_pixels = 4'000'000;
  needs.max_running = 16;
  needs.limit_bytes = limit_bytes;
  return needs;
}

TEST(MemoryPlanTest, FillsTheKvCacheUpToItsDefault) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const MemoryPlan roomy, PlanMemory(TwoBillion(), Needs(24 * kGiB)));
  EXPECT_EQ(roomy.kv_tokens, 32768);
  SACCADE_ASSERT_OK_AND_ASSIGN(const MemoryPlan tight, PlanMemory(TwoBillion(), Needs(3 * kGiB)));
  EXPECT_GT(tight.kv_tokens, 2048);
  EXPECT_LT(tight.kv_tokens, 32768);
  EXPECT_LE(tight.total_bytes(), 3 * kGiB);
  EXPECT_GT(tight.total_bytes(), 3 * kGiB - (1 << 20));
}

TEST(MemoryPlanTest, KnowsTheSizesOfTheTwoBillionModel) {
  // 1.4 billion weights at 4.25 bits and the head at 8.25; the tower at 8.25.
  const WeightBytes bytes = EstimateWeightBytes(TwoBillion(), {WeightType::kInt4, WeightType::kInt8});
  EXPECT_NEAR(static_cast<double>(bytes.text), 1.409e9 * 4.25 / 8 + 0.311e9 * 8.25 / 8, 0.02e9);
  EXPECT_NEAR(static_cast<double>(bytes.vision), 0.405e9 * 8.25 / 8, 0.02e9);
}

TEST(MemoryPlanTest, RefusesWhatCannotFitWithTheNumbersThatMatter) {
  const Status status = PlanMemory(TwoBillion(), Needs(kGiB)).status();
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("but 1024 MiB of memory may be used"));
  EXPECT_THAT(status.message(), HasSubstr("--kv-tokens 2048 would need"));
  MemoryNeeds needs = Needs(4 * kGiB);
  needs.kv_tokens = 1 << 20;  // asked for by name: refused rather than lowered
  EXPECT_FALSE(PlanMemory(TwoBillion(), needs).ok());
}

TEST(MemoryPlanTest, AutomaticTypesFollowTheMemory) {
  ModelConfig small = TwoBillion();
  small.text.layers = small.vision.depth = 1;
  small.text.vocab = 1000;
  EXPECT_EQ(ChooseWeightTypes(small, 24 * kGiB).text, WeightType::kBf16);
  EXPECT_EQ(ChooseWeightTypes(TwoBillion(), 24 * kGiB).text, WeightType::kInt8);
  EXPECT_EQ(ChooseWeightTypes(TwoBillion(), 4 * kGiB).text, WeightType::kInt4);
  EXPECT_EQ(ChooseWeightTypes(TwoBillion(), 4 * kGiB).vision, WeightType::kInt8);
}

}  // namespace
}  // namespace saccade
