#include "text/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<float> RandomLogits(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = static_cast<float>(random() >> 8) / 1e6F - 8;
  return logits;
}

std::vector<int32_t> Draw(const SamplingParams& params, std::span<const float> logits, int count,
                          std::span<const int32_t> prompt = {}) {
  Sampler sampler(params, prompt);
  std::vector<int32_t> tokens;
  for (int i = 0; i < count; ++i) {
    const auto token = sampler.Sample(logits);
    EXPECT_TRUE(token.ok()) << token.status().ToString();
    tokens.push_back(*token);
  }
  return tokens;
}

TEST(Sampler, GreedyTakesTheLargest) {
  const std::vector<float> logits = {1, 3, 3, -2};
  EXPECT_THAT(Draw({.temperature = 0}, logits, 3), ElementsAre(1, 1, 1));
  EXPECT_THAT(Draw({.temperature = 1, .top_k = 1}, logits, 2), ElementsAre(1, 1));
  EXPECT_THAT(Draw({.temperature = 1e-7F}, logits, 1), ElementsAre(1));
}

TEST(Sampler, PenaltiesFollowTheReference) {
  const SamplingParams repetition = {.temperature = 0, .repetition_penalty = 2};
  // Prompt tokens count: 3 / 2 < 2. Then token 2 is penalised as well: 2 / 2 < 3 / 2.
  EXPECT_THAT(Draw(repetition, std::vector<float>{-1, 3, 2}, 3, std::vector<int32_t>{1, 1, 77}),
              ElementsAre(2, 1, 1));
  // A negative logit is multiplied: -1 * 2 < -1.5.
  EXPECT_THAT(Draw(repetition, std::vector<float>{-1, -1.5F}, 2, std::vector<int32_t>{0}), ElementsAre(1, 0));
  // Presence is subtracted once, frequency every time; neither counts the prompt.
  EXPECT_THAT(Draw({.temperature = 0, .presence_penalty = 1.5F}, std::vector<float>{3, 2, 1}, 4,
                   std::vector<int32_t>{0}),
              ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(Draw({.temperature = 0, .frequency_penalty = 1}, std::vector<float>{3, 1.5F}, 5),
              ElementsAre(0, 0, 1, 0, 1));
}

TEST(Sampler, LogitBias) {
  EXPECT_THAT(
      Draw({.temperature = 0, .logit_bias = {{0, -100}, {2, 1.5F}, {99, 5}}}, std::vector<float>{9, 3, 2}, 2),
      ElementsAre(2, 2));
}

TEST(Sampler, AcceptCountsForcedTokens) {
  Sampler sampler({.temperature = 0, .presence_penalty = 2}, {});
  sampler.Accept(1);
  EXPECT_EQ(*sampler.Sample(std::vector<float>{1, 2, 0.5F}), 0);
}

TEST(Sampler, LogitsStayAsTheyAre) {
  const std::vector<float> logits = RandomLogits(300, 1);
  const std::vector<float> before = logits;
  Draw({.temperature = 0.7F, .top_k = 20, .top_p = 0.8F, .repetition_penalty = 1.3F, .presence_penalty = 1},
       logits, 10);
  EXPECT_EQ(logits, before);
}

// Recorded once: a change here changes the answers that users get for a given seed.
TEST(Sampler, SeedsGiveTheSameTokensForever) {
  const std::vector<float> logits = RandomLogits(1000, 42);
  EXPECT_THAT(Draw({.seed = 1}, logits, 8), ElementsAre(217, 849, 577, 452, 949, 117, 379, 373));
  EXPECT_THAT(Draw({.seed = 2}, logits, 8), ElementsAre(673, 976, 673, 575, 323, 699, 280, 117));
  EXPECT_THAT(Draw({.temperature = 0.7F, .top_k = 20, .top_p = 0.8F, .seed = 1}, logits, 8),
              ElementsAre(849, 998, 780, 425, 308, 379, 479, 479));
}

// The probabilities that the definition of the reference gives, computed by sorting.
std::map<int32_t, double> Expected(const SamplingParams& params, const std::vector<float>& logits) {
  std::vector<std::pair<double, int32_t>> sorted;
  for (size_t i = 0; i < logits.size(); ++i)
    sorted.emplace_back(-logits[i] / params.temperature, static_cast<int32_t>(i));
  std::sort(sorted.begin(), sorted.end());
  if (params.top_k > 0 && sorted.size() > static_cast<size_t>(params.top_k)) sorted.resize(params.top_k);
  double total = 0;
  for (const auto& [negative, token] : sorted) total += std::exp(sorted[0].first - negative);
  std::map<int32_t, double> kept;
  double above = 0, kept_total = 0;
  for (const auto& [negative, token] : sorted) {
    const double weight = std::exp(sorted[0].first - negative);
    if (above >= params.top_p * total && !kept.empty()) break;
    above += weight;
    if (weight < params.min_p) break;
    kept[token] = weight;
    kept_total += weight;
  }
  for (auto& [token, weight] : kept) weight /= kept_total;
  return kept;
}

TEST(Sampler, FrequenciesFollowTheDistribution) {
  const std::vector<SamplingParams> settings = {
      {.temperature = 1},
      {.temperature = 1.5F, .top_p = 0.9F},
      {.temperature = 2, .top_k = 10},
      {.temperature = 1, .top_k = 50, .top_p = 0.7F},
      {.temperature = 1.2F, .min_p = 0.05F},
      {.temperature = 3, .top_p = 0.999F, .min_p = 0.0001F},
      {.temperature = 1, .top_k = 1000000},
  };
  const std::vector<float> logits = RandomLogits(400, 9);
  constexpr int kDraws = 6000;
  uint64_t seed = 0;
  for (SamplingParams params : settings) {
    params.seed = ++seed;
    const auto expected = Expected(params, logits);
    std::map<int32_t, int> counts;
    for (const int32_t token : Draw(params, logits, kDraws)) ++counts[token];
    for (const auto& [token, count] : counts) ASSERT_TRUE(expected.contains(token)) << token;
    for (const auto& [token, probability] : expected) {
      const double sigma = std::sqrt(kDraws * probability * (1 - probability)) + 1;
      EXPECT_NEAR(counts[token], kDraws * probability, 5 * sigma)
          << "token " << token << ", setting " << seed;
    }
  }
}

TEST(Sampler, NeedsManyCandidatesForFlatDistributions) {
  std::vector<float> logits(5000, 0.0F);
  std::map<int32_t, int> counts;
  for (const int32_t token : Draw({.top_p = 0.5F, .seed = 4}, logits, 1500)) ++counts[token];
  EXPECT_LT(counts.rbegin()->first, 2500);  // equal logits rank by id
  EXPECT_GT(counts.rbegin()->first, 2400);
  EXPECT_GT(counts.size(), 1000U);
}

TEST(Sampler, BrokenLogitsAreAnError) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits = RandomLogits(100, 5);
    logits[70] = bad;
    for (const SamplingParams& params :
         {SamplingParams{.temperature = 0}, SamplingParams{.top_k = 5}, SamplingParams{}}) {
      EXPECT_THAT(Sampler(params, {}).Sample(logits),
                  FailsWith(StatusCode::kInternal, HasSubstr("NaN or infinite")));
    }
    EXPECT_THAT(ComputeLogprobs(logits, 0, 1), FailsWith(StatusCode::kInternal, HasSubstr("NaN")));
  }
  EXPECT_FALSE(Sampler({}, {}).Sample({}).ok());
}

TEST(SamplingParams, ErrorsNameTheField) {
  SACCADE_EXPECT_OK(SamplingParams().Validate());
  SACCADE_EXPECT_OK((SamplingParams{.temperature = 0, .top_k = -1}.Validate()));
  const std::pair<SamplingParams, const char*> cases[] = {
      {{.temperature = -1}, "temperature"},
      {{.temperature = std::numeric_limits<float>::quiet_NaN()}, "temperature"},
      {{.top_k = -2}, "top_k"},
      {{.top_p = 0}, "top_p"},
      {{.top_p = 1.1F}, "top_p"},
      {{.min_p = -0.1F}, "min_p"},
      {{.repetition_penalty = 0}, "repetition_penalty"},
      {{.presence_penalty = 2.5F}, "presence_penalty"},
      {{.frequency_penalty = -3}, "frequency_penalty"},
      {{.logit_bias = {{5, 101}}}, "logit_bias"},
      {{.logit_bias = {{-1, 1}}}, "logit_bias"},
      {{.logit_bias = std::vector<std::pair<int32_t, float>>(5000)}, "logit_bias"},
  };
  for (const auto& [params, field] : cases) {
    const Status status = params.Validate();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << field;
    EXPECT_EQ(status.param(), field);
    EXPECT_THAT(status.message(), HasSubstr(field));
  }
}

TEST(Logprobs, AreLogSoftmax) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Logprobs small, ComputeLogprobs(std::vector<float>{0, 0, 0, 0}, 2, 2));
  EXPECT_FLOAT_EQ(small.chosen, -std::log(4.0F));
  ASSERT_EQ(small.top.size(), 2U);
  EXPECT_EQ(small.top[0].first, 0);
  EXPECT_EQ(small.top[1].first, 1);
  const auto logits = RandomLogits(3000, 8);
  double total = 0;
  for (const float logit : logits) total += std::exp(double{logit});
  SACCADE_ASSERT_OK_AND_ASSIGN(const Logprobs logprobs, ComputeLogprobs(logits, 17, 5));
  EXPECT_NEAR(logprobs.chosen, logits[17] - std::log(total), 1e-5);
  ASSERT_EQ(logprobs.top.size(), 5U);
  for (size_t i = 0; i + 1 < 5; ++i) EXPECT_GE(logprobs.top[i].second, logprobs.top[i + 1].second);
  EXPECT_TRUE(ComputeLogprobs(logits, 0, 0)->top.empty());
  EXPECT_FALSE(ComputeLogprobs(logits, 3000, 0).ok());
  EXPECT_FALSE(ComputeLogprobs(logits, -1, 0).ok());
}

}  // namespace
}  // namespace saccade
