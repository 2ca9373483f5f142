#include "server/cost_model.h"

#include <gtest/gtest.h>

#include "server/queue_gate.h"

namespace saccade {
namespace {

RequestUsage Usage(int64_t prompt, int64_t image, int64_t cached, int64_t completion) {
  return {.prompt_tokens = prompt,
          .image_tokens = image,
          .cached_tokens = cached,
          .completion_tokens = completion};
}
RequestTimings Timings(double vision_ms, double prefill_ms, double decode_ms) {
  RequestTimings timings;
  timings.vision = vision_ms;
  timings.prefill = prefill_ms;
  timings.decode = decode_ms;
  return timings;
}

TEST(CostModel, SaysNothingBeforeItHasSeenAnything) {
  CostModel model;
  EXPECT_FALSE(model.Predict({100, 50, 10}).has_value());
  EXPECT_EQ(model.RetryAfterSeconds(), 1);
}

TEST(CostModel, ScalesWhatItSaw) {
  CostModel model;
  model.Observe(Usage(300, 200, 100, 50), Timings(2000, 400, 1000));
  const auto seconds = model.Predict({600, 100, 10});
  ASSERT_TRUE(seconds.has_value());
  EXPECT_DOUBLE_EQ(seconds->wait, 0);
  EXPECT_DOUBLE_EQ(seconds->vision, 1.0);   // half of the picture
  EXPECT_DOUBLE_EQ(seconds->prefill, 1.2);  // three times the 200 tokens that were computed
  EXPECT_DOUBLE_EQ(seconds->decode, 0.2);
  EXPECT_DOUBLE_EQ(seconds->total(), 2.4);
  // Nobody answers with a million tokens because he may: the mean answer counts.
  EXPECT_DOUBLE_EQ(model.Predict({600, 100, 1'000'000})->decode, 1.0);
}

TEST(CostModel, FollowsTheMachineAndForgivesAnOutlier) {
  CostModel model;
  for (int i = 0; i < 5; ++i) model.Observe(Usage(100, 0, 0, 10), Timings(0, 100, 100));
  model.Observe(Usage(100, 0, 0, 10), Timings(0, 1100, 100));
  EXPECT_NEAR(model.Predict({100, 0, 1})->prefill, 0.3, 1e-9);
  for (int i = 0; i < 30; ++i) model.Observe(Usage(100, 0, 0, 10), Timings(0, 200, 100));
  EXPECT_NEAR(model.Predict({100, 0, 1})->prefill, 0.2, 0.001);
}

TEST(CostModel, WhatCameBeforeIsWaitedFor) {
  CostModel model;
  model.Observe(Usage(100, 0, 0, 10), Timings(0, 1000, 100));
  auto first = model.Enter({200, 0, 5});
  auto second = model.Enter({300, 0, 5});
  EXPECT_NEAR(model.Predict({100, 0, 5})->wait, 5, 1e-9);
  EXPECT_EQ(model.RetryAfterSeconds(), 5);
  first.reset();
  EXPECT_NEAR(model.Predict({100, 0, 5})->wait, 3, 1e-9);
  second.reset();
  EXPECT_NEAR(model.Predict({100, 0, 5})->wait, 0, 1e-9);
  const auto many = model.Enter({1'000'000, 0, 5});
  EXPECT_EQ(model.RetryAfterSeconds(), 60);
}

TEST(QueueGate, CountsWhatIsStillBeingPrepared) {
  QueueGate gate;
  EngineStats stats;
  stats.max_waiting = 3;
  stats.waiting = 1;
  auto first = gate.Enter(stats), second = gate.Enter(stats);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(gate.Enter(stats), nullptr);
  first.reset();
  EXPECT_NE(gate.Enter(stats), nullptr);
  stats.max_waiting = 0;  // nobody knows
  EXPECT_NE(gate.Enter(stats), nullptr);
}

}  // namespace
}  // namespace saccade
