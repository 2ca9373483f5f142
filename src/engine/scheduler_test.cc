#include "engine/scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace saccade {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SequenceView Waiting(int64_t tokens) { return {Stage::kWaiting, tokens, 0, 0}; }
SequenceView Decoding(int64_t tokens, int64_t pages) { return {Stage::kDecode, tokens, tokens - 1, pages}; }
SequenceView Prefilling(int64_t tokens, int64_t computed, int64_t pages) {
  return {Stage::kPrefill, tokens, computed, pages};
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

SequenceView Batch(SequenceView view) {
  view.batch = true;
  return view;
}
SequenceView Of(uint64_t user, SequenceView view) {
  view.user = user;
  return view;
}

TEST(Scheduler, InteractiveGoesBeforeBatch) {
  const std::vector<SequenceView> views = {Batch(Waiting(10)), Batch(Waiting(10)), Waiting(10), Waiting(10)};
  EXPECT_THAT(PlanStep(views, Limits(100)).admit, ElementsAre(2, 3, 0));
}

TEST(Scheduler, UsersTakeTurns) {
  const std::vector<SequenceView> views = {Of(1, Waiting(10)), Of(1, Waiting(10)), Of(1, Waiting(10)),
                                           Of(2, Waiting(10)), Waiting(10)};
  EXPECT_THAT(PlanStep(views, Limits(100)).admit, ElementsAre(0, 3, 4));
}

TEST(Scheduler, ARunningRequestUsesUpItsUsersTurn) {
  const std::vector<SequenceView> views = {Of(1, Decoding(16, 2)), Of(1, Decoding(16, 2)), Of(1, Waiting(10)),
                                           Of(2, Waiting(10))};
  EXPECT_THAT(PlanStep(views, Limits(100)).admit, ElementsAre(3));
}

TEST(Scheduler, PromptsOfTheBatchClassWaitForInteractiveOnes) {
  const std::vector<SequenceView> views = {Batch(Prefilling(100, 0, 0)), Decoding(20, 2),
                                           Prefilling(100, 0, 0)};
  const StepPlan plan = PlanStep(views, Limits(100));
  ASSERT_EQ(plan.prefill.size(), 1U);
  EXPECT_EQ(plan.prefill[0].sequence, 2U);
}

TEST(Scheduler, BatchGivesItsPlaceToAWaitingInteractiveRequest) {
  const std::vector<SequenceView> views = {Batch(Decoding(20, 2)), Batch(Decoding(20, 2)),
                                           Batch(Decoding(20, 2)), Waiting(10)};
  const StepPlan plan = PlanStep(views, Limits(100));
  EXPECT_THAT(plan.preempt, ElementsAre(2));
  EXPECT_THAT(plan.decode, ElementsAre(0, 1));
  // A batch request that waits takes nobody's place.
  const std::vector<SequenceView> only_batch = {Batch(Decoding(20, 2)), Batch(Decoding(20, 2)),
                                                Batch(Decoding(20, 2)), Batch(Waiting(10))};
  EXPECT_THAT(PlanStep(only_batch, Limits(100)).preempt, IsEmpty());
}

TEST(Scheduler, BatchIsPreemptedBeforeAnOlderInteractiveOne) {
  const std::vector<SequenceView> views = {Batch(Decoding(17, 1)), Decoding(17, 1), Decoding(17, 1)};
  const StepPlan plan = PlanStep(views, Limits(1));
  EXPECT_THAT(plan.preempt, ElementsAre(0));
  EXPECT_THAT(plan.decode, ElementsAre(1, 2));
}

TEST(Scheduler, ASharedPageIsFreeWhenItsLastHolderIsPreempted) {
  // Sequences 1 and 2 share page 0; each has one of its own. The first needs two pages.
  const std::vector<int32_t> second = {0, 1}, third = {0, 2}, holders = {2, 1, 1};
  std::vector<SequenceView> views = {Decoding(33, 1), Decoding(20, 2), Decoding(20, 2)};
  views[1].pages = second;
  views[2].pages = third;
  SchedulerLimits limits = Limits(0);
  limits.page_holders = holders;
  EXPECT_THAT(PlanStep(views, limits).preempt, ElementsAre(2, 1));
  limits.free_pages = 1;
  EXPECT_THAT(PlanStep(views, limits).preempt, ElementsAre(2));
}

}  // namespace
}  // namespace saccade
