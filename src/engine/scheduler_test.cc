#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace saccade {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SequenceView Waiting(int64_t tokens) { return {Stage::kWaiting, tokens, 0, 0, 0}; }
SequenceView Decoding(int64_t tokens, int64_t pages) {
  return {Stage::kDecode, tokens, tokens - 1, pages, 0};
}
SequenceView Prefilling(int64_t tokens, int64_t computed, int64_t pages) {
  return {Stage::kPrefill, tokens, computed, pages, 0};
}

SchedulerLimits Limits(int64_t free_pages) {
  SchedulerLimits limits;
  limits.page_tokens = 16;
  limits.prefill_slice_tokens = 32;
  limits.prefill_burst_tokens = 64;
  limits.max_running = 3;
  limits.free_pages = free_pages;
  return limits;
}

TEST(Scheduler, AdmitsInOrderUpToThePlaces) {
  const std::vector<SequenceView> views = {Waiting(10), Waiting(10), Waiting(10), Waiting(10)};
  EXPECT_THAT(PlanStep(views, Limits(100)).admit, ElementsAre(0, 1, 2));
}

TEST(Scheduler, NobodyOvertakesARequestThatWaitsForPages) {
  const std::vector<SequenceView> views = {Decoding(16, 2), Waiting(100), Waiting(10)};
  EXPECT_THAT(PlanStep(views, Limits(3)).admit, IsEmpty());
}

TEST(Scheduler, PagesPromisedToAPrefillAreNotGivenAway) {
  const std::vector<SequenceView> views = {Prefilling(64, 0, 0), Waiting(16)};
  EXPECT_THAT(PlanStep(views, Limits(6)).admit, IsEmpty());
  EXPECT_THAT(PlanStep(views, Limits(7)).admit, ElementsAre(1));
}

TEST(Scheduler, DecodeRowsAndAPromptSliceShareAStep) {
  const std::vector<SequenceView> views = {Decoding(20, 2), Prefilling(100, 0, 0), Prefilling(50, 0, 0)};
  const StepPlan plan = PlanStep(views, Limits(100));
  EXPECT_THAT(plan.decode, ElementsAre(0));
  ASSERT_EQ(plan.prefill.size(), 1U);
  EXPECT_EQ(plan.prefill[0].sequence, 1U);
  EXPECT_EQ(plan.prefill[0].tokens, 32);
}

TEST(Scheduler, WithoutRunningAnswersPromptsGoFasterAndShareTheStep) {
  const std::vector<SequenceView> views = {Prefilling(100, 60, 4), Prefilling(50, 0, 0)};
  const StepPlan plan = PlanStep(views, Limits(100));
  ASSERT_EQ(plan.prefill.size(), 2U);
  EXPECT_EQ(plan.prefill[0].tokens, 40);
  EXPECT_EQ(plan.prefill[1].tokens, 24);
}

TEST(Scheduler, PreemptsTheYoungestWhenPagesRunOut) {
  // All three stand at a page border and need one page each.
  const std::vector<SequenceView> views = {Decoding(17, 1), Decoding(17, 1), Decoding(17, 1)};
  const StepPlan plan = PlanStep(views, Limits(1));
  EXPECT_THAT(plan.preempt, ElementsAre(2));
  EXPECT_THAT(plan.decode, ElementsAre(0, 1));
  EXPECT_THAT(plan.admit, IsEmpty());
}

TEST(Scheduler, TheOldestIsNeverPreempted) {
  const std::vector<SequenceView> views = {Decoding(33, 2), Decoding(33, 2)};
  const StepPlan plan = PlanStep(views, Limits(0));
  EXPECT_THAT(plan.preempt, ElementsAre(1));
  EXPECT_THAT(plan.decode, ElementsAre(0));
}

}  // namespace
}  // namespace saccade
