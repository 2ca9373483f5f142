#include "engine/step_budget.h"

#include <gtest/gtest.h>

namespace saccade {
namespace {

TEST(StepBudgetTest, PromptsTakeWhatDecodingLeavesOfTheGap) {
  StepBudget budget(250);
  budget.Observe(4, 0, 50);
  budget.Observe(4, 100, 50 + 100);
  EXPECT_DOUBLE_EQ(budget.decode_ms(), 50);
  EXPECT_DOUBLE_EQ(budget.prefill_ms_per_token(), 1);
  EXPECT_EQ(budget.Shares(4, false, true).prefill_tokens, 192);  // of 200, in steps of 16
  EXPECT_EQ(budget.Shares(4, false, true).vision_ms, 0);
}

TEST(StepBudgetTest, PicturesAndPromptsShare) {
  StepBudget budget(250);
  budget.Observe(4, 0, 50);
  budget.Observe(0, 100, 100);
  EXPECT_DOUBLE_EQ(budget.Shares(4, true, true).vision_ms, 100);
  EXPECT_EQ(budget.Shares(4, true, true).prefill_tokens, 96);
  EXPECT_DOUBLE_EQ(budget.Shares(4, true, false).vision_ms, 200);
}

TEST(StepBudgetTest, SlowDecodingLeavesALeastShare) {
  StepBudget budget(200);
  budget.Observe(16, 0, 900);
  EXPECT_DOUBLE_EQ(budget.Shares(16, true, false).vision_ms, 50);
  budget.Observe(16, 32, 900 + 32 * 40);
  EXPECT_EQ(budget.Shares(16, false, true).prefill_tokens, 16);
}

TEST(StepBudgetTest, WithoutRunningAnswersStepsAreLong) {
  StepBudget budget(100);
  budget.Observe(0, 100, 100);
  EXPECT_GT(budget.Shares(0, true, false).vision_ms, 400);
  EXPECT_GT(budget.Shares(0, false, true).prefill_tokens, 400);
}

TEST(StepBudgetTest, MeasurementsFollowTheMachine) {
  StepBudget budget(250);
  EXPECT_GT(budget.Shares(1, false, true).prefill_tokens, 0);
  for (int i = 0; i < 20; ++i) budget.Observe(1, 0, 10);
  for (int i = 0; i < 20; ++i) budget.Observe(1, 0, 80);
  EXPECT_NEAR(budget.decode_ms(), 80, 1);
  const double before = budget.prefill_ms_per_token();
  budget.Observe(1, 2, 500);  // two tokens say nothing about the time of one
  EXPECT_EQ(budget.prefill_ms_per_token(), before);
}

}  // namespace
}  // namespace saccade
