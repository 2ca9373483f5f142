// Whatever happens to a request on its way, company, cache hits, pre-emption or slices of any size, its
// greedy tokens are the same.
#include <thread>

#include "engine_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::GoldenChat;
using ::saccade::testing::Recorder;
using ::saccade::testing::StartModel;
using ::saccade::testing::Submit;

struct Case {
  const char* model;
  WeightType weights;
  KvType kv;
};

std::string CaseName(const ::testing::TestParamInfo<Case>& info) {
  std::string name = std::string(info.param.model) + "_" + std::string(WeightTypeName(info.param.weights)) +
                     "_" + std::string(KvTypeName(info.param.kv));
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

using Answers = std::vector<std::vector<int32_t>>;

class Identity : public ::testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Engine> Start(EngineOptions options = {}) {
    if (options.kv_cache_tokens == 0) options.kv_cache_tokens = 8192;
    return StartModel(GetParam().model, options, GetParam().weights, GetParam().kv);
  }
  // Every conversation, `copies` times at once.
  static Answers Ask(Engine& engine, int copies, int max_tokens = 40) {
    std::vector<std::shared_ptr<PreparedRequest>> requests;
    for (int copy = 0; copy < copies; ++copy) {
      for (const char* name : {"text_only", "one_image", "wide_image", "two_images", "two_turns"}) {
        ChatInput input = GoldenChat("tiny-dense", name);
        input.options.max_tokens = max_tokens;
        input.options.ignore_eos = true;
        requests.push_back(engine.Prepare(input).value());
      }
    }
    std::vector<std::unique_ptr<Recorder>> recorders;
    for (const auto& request : requests) {
      recorders.push_back(std::make_unique<Recorder>());
      EXPECT_TRUE(engine.Submit(request, recorders.back()->Sink()).ok());
      if (copies == 1) recorders.back()->Wait();  // alone
    }
    Answers answers;
    for (const auto& recorder : recorders) {
      recorder->Wait();
      EXPECT_TRUE(recorder->status().ok()) << recorder->status().ToString();
      answers.push_back(recorder->tokens());
    }
    return answers;
  }
  // Each on its own, nothing reused.
  const Answers& Alone(int max_tokens) {
    if (alone_.empty()) {
      EngineOptions options;
      options.prefix_cache = false;
      options.image_cache_bytes = 0;
      alone_ = Ask(*Start(options), 1, max_tokens);
    }
    return alone_;
  }
  void ExpectSame(const Answers& answers, int max_tokens = 40) {
    const Answers& alone = Alone(max_tokens);
    for (size_t i = 0; i < answers.size(); ++i) EXPECT_EQ(answers[i], alone[i % alone.size()]) << i;
  }

 private:
  Answers alone_;
};

TEST_P(Identity, InABatchAndAfterCacheHits) {
  EngineOptions options;
  options.max_running = 16;
  const auto engine = Start(options);
  ExpectSame(Ask(*engine, 4));
  ExpectSame(Ask(*engine, 1));
  EXPECT_GT(engine->Stats().cached_tokens, 0);
}

TEST_P(Identity, AfterPreemption) {
  constexpr int kLong = 100;  // more than the page that admission leaves for an answer
  EngineOptions options;
  options.max_running = 16;
  options.kv_cache_tokens = 640;
  for (bool cached : {false, true}) {
    options.prefix_cache = cached;
    const auto engine = Start(options);
    ExpectSame(Ask(*engine, 3, kLong), kLong);
    while (engine->Stats().kv_pages_used != 0) std::this_thread::yield();
    if (!cached) {
      EXPECT_GT(engine->Stats().preemptions, 0);
    }
  }
}

TEST_P(Identity, WithSlicesOfAnySize) {
  for (int slice : {1, 7, 24, 100}) {
    EngineOptions options;
    options.prefix_cache = false;
    options.prefill_slice_tokens = options.prefill_burst_tokens = slice;
    ExpectSame(Ask(*Start(options), 2));
  }
}

INSTANTIATE_TEST_SUITE_P(Tiny, Identity,
                         ::testing::Values(Case{"tiny-dense", WeightType::kF32, KvType::kF32},
                                           Case{"tiny-dense", WeightType::kBf16, KvType::kBf16},
                                           Case{"tiny-dense", WeightType::kInt8, KvType::kInt8},
                                           Case{"tiny-dense", WeightType::kInt4, KvType::kBf16},
                                           Case{"tiny-untied", WeightType::kInt8, KvType::kBf16},
                                           Case{"tiny-untied", WeightType::kInt4, KvType::kInt8}),
                         CaseName);
INSTANTIATE_TEST_SUITE_P(Bundled, Identity,
                         ::testing::Values(Case{"demo", WeightType::kBf16, KvType::kBf16},
                                           Case{"demo", WeightType::kInt8, KvType::kInt8},
                                           Case{"demo", WeightType::kInt4, KvType::kBf16}),
                         CaseName);

}  // namespace
}  // namespace saccade
