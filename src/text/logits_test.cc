#include "text/logits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace saccade {
namespace {

// Lengths around the lane and block sizes.
constexpr size_t kLengths[] = {1, 2, 15, 16, 17, 255, 256, 257, 1000, 5003};

std::vector<float> RandomLogits(size_t count, uint32_t seed, bool many_equal) {
  std::mt19937 random(seed);
  std::vector<float> logits(count);
  for (float& logit : logits) {
    logit = many_equal ? static_cast<float>(random() % 5) - 2 : static_cast<float>(random()) / 1e8F - 20;
  }
  return logits;
}

TEST(Logits, ArgMaxTakesTheFirstOfTheLargest) {
  for (const size_t length : kLengths) {
    for (const bool many_equal : {false, true}) {
      const auto logits = RandomLogits(length, static_cast<uint32_t>(length), many_equal);
      const auto expected = std::max_element(logits.begin(), logits.end()) - logits.begin();
      ASSERT_EQ(ArgMax(logits), static_cast<int32_t>(expected)) << length;
    }
  }
  EXPECT_EQ(ArgMax(std::vector<float>{-3e38F, -2e38F}), 1);
  EXPECT_EQ(ArgMax({}), std::nullopt);
}

TEST(Logits, ArgMaxRefusesWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()}) {
    for (const size_t place : {0U, 16U, 300U, 999U}) {
      std::vector<float> logits = RandomLogits(1000, 1, false);
      logits[place] = bad;
      EXPECT_EQ(ArgMax(logits), std::nullopt);
    }
  }
}

TEST(Logits, TopLogitsEqualsSorting) {
  for (const size_t length : kLengths) {
    for (const bool many_equal : {false, true}) {
      const auto logits = RandomLogits(length, static_cast<uint32_t>(length) + 7, many_equal);
      std::vector<int32_t> order(length);
      for (size_t i = 0; i < length; ++i) order[i] = static_cast<int32_t>(i);
      std::stable_sort(order.begin(), order.end(),
                       [&](int32_t a, int32_t b) { return logits[a] > logits[b]; });
      for (const size_t count : {size_t{0}, size_t{1}, size_t{20}, size_t{100}, length, length + 5}) {
        const auto top = TopLogits(logits, count);
        ASSERT_EQ(top.size(), std::min(count, length));
        for (size_t i = 0; i < top.size(); ++i) {
          ASSERT_EQ(top[i].token, order[i]) << length << " " << count << " " << i;
          ASSERT_EQ(top[i].logit, logits[order[i]]);
        }
      }
    }
  }
}

TEST(Logits, ExpIsAccurate) {
  EXPECT_EQ(ExpNonPositive(0), 1.0F);
  EXPECT_EQ(ExpNonPositive(-87.5F), 0.0F);
  EXPECT_EQ(ExpNonPositive(-std::numeric_limits<float>::infinity()), 0.0F);
  double worst = 0;
  for (int i = 0; i <= 870000; ++i) {
    const float x = -static_cast<float>(i) * 1e-4F;
    const double exact = std::exp(double{x});
    worst = std::max(worst, std::abs(ExpNonPositive(x) - exact) / exact);
  }
  EXPECT_LT(worst, 2e-7);
}

TEST(Logits, SoftmaxWeightsAddUp) {
  for (const size_t length : kLengths) {
    const auto logits = RandomLogits(length, 3, false);
    const float max = *std::max_element(logits.begin(), logits.end());
    std::vector<float> weights(length);
    const double total = SoftmaxWeights(logits, max, 0.5F, weights);
    double expected = 0;
    for (size_t i = 0; i < length; ++i) {
      const double weight = std::exp((double{logits[i]} - max) * 0.5);
      EXPECT_NEAR(weights[i], weight, 1e-5 * weight);  // the argument itself is rounded to a float
      expected += weight;
    }
    EXPECT_NEAR(total, expected, 1e-5 * expected);
  }
}

TEST(Logits, PassesSumFindsThePlace) {
  for (const size_t length : kLengths) {
    std::vector<float> weights(length);
    for (size_t i = 0; i < length; ++i)
      weights[i] = static_cast<float>(i % 3);  // whole numbers add up exactly
    if (length == 1) weights[0] = 1;
    double sum = 0;
    for (size_t i = 0; i < length; ++i) {
      if (weights[i] <= 0) continue;
      ASSERT_EQ(PassesSum(weights, sum), i) << length;
      sum += weights[i];
      ASSERT_EQ(PassesSum(weights, sum - 0.5), i) << length;
    }
    size_t last = length - 1;
    while (weights[last] <= 0) --last;
    EXPECT_EQ(PassesSum(weights, sum), last);
  }
}

}  // namespace
}  // namespace saccade
