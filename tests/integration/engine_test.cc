// The engine from file bytes and text to events: right answers alone and together, and every way to end.
#include "engine/engine.h"

#include <thread>

#include "engine_testing.h"
#include "tensor/safetensors.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenChat;
using ::saccade::testing::GoldenFolder;
using ::saccade::testing::Recorder;
using ::saccade::testing::StartTiny;
using ::saccade::testing::Submit;
using ::saccade::testing::TextChat;
using ::testing::HasSubstr;

const std::vector<std::string> kConversations = {"text_only", "one_image", "wide_image", "two_images",
                                                 "two_turns"};

std::vector<int32_t> GoldenTokens(const std::string& checkpoint, const std::string& conversation) {
  const MmapFile file =
      MmapFile::Open(GoldenFolder() / checkpoint / ("golden_" + conversation + ".safetensors")).value();
  const auto tensors = ParseSafetensors(file.bytes()).value();
  const TensorView& ids = tensors.at("greedy_ids");
  const std::vector<float> margins = ToFloats(tensors.at("greedy_margin"));
  std::vector<int32_t> tokens(static_cast<size_t>(ids.elements()));
  std::memcpy(tokens.data(), ids.bytes.data(), ids.bytes.size());
  size_t certain = 0;
  while (certain < tokens.size() && margins[certain] >= 1e-3F) ++certain;
  tokens.resize(certain);
  return tokens;
}

ChatInput Greedy(const std::string& checkpoint, const std::string& conversation, int max_tokens = 48) {
  ChatInput input = GoldenChat(checkpoint, conversation);
  input.options.max_tokens = max_tokens;
  input.options.ignore_eos = true;
  return input;
}

class EngineGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(EngineGolden, AnswersEqualTheReference) {
  const std::unique_ptr<Engine> engine = StartTiny(GetParam());
  for (const std::string& conversation : kConversations) {
    Recorder recorder;
    Submit(*engine, Greedy(GetParam(), conversation), recorder);
    recorder.Wait();
    ASSERT_TRUE(recorder.status().ok()) << recorder.status().ToString();
    const std::vector<int32_t> expected = GoldenTokens(GetParam(), conversation);
    ASSERT_EQ(recorder.tokens().size(), 48U);
    EXPECT_EQ(std::vector<int32_t>(recorder.tokens().begin(),
                                   recorder.tokens().begin() + static_cast<ptrdiff_t>(expected.size())),
              expected)
        << conversation;
    EXPECT_EQ(recorder.finished().reason, FinishReason::kLength);
    EXPECT_EQ(recorder.ends(), 1);
  }
}

// All five at once, several times over, with few pages and small slices: the same tokens as alone.
TEST_P(EngineGolden, TogetherEqualsAlone) {
  EngineOptions options;
  options.prefill_slice_tokens = 24;
  options.max_running = 6;
  options.kv_cache_tokens = 1024;
  const std::unique_ptr<Engine> engine = StartTiny(GetParam(), options);
  std::vector<std::unique_ptr<Recorder>> recorders;
  for (int round = 0; round < 3; ++round) {
    for (const std::string& conversation : kConversations) {
      recorders.push_back(std::make_unique<Recorder>());
      Submit(*engine, Greedy(GetParam(), conversation), *recorders.back());
    }
  }
  for (size_t i = 0; i < recorders.size(); ++i) {
    recorders[i]->Wait();
    ASSERT_TRUE(recorders[i]->status().ok()) << recorders[i]->status().ToString();
    const std::string& conversation = kConversations[i % kConversations.size()];
    const std::vector<int32_t> expected = GoldenTokens(GetParam(), conversation);
    ASSERT_GE(recorders[i]->tokens().size(), expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), recorders[i]->tokens().begin())) << conversation;
  }
  // The counters are published after the step whose events were awaited.
  while (engine->Stats().kv_pages_used != 0) std::this_thread::yield();
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, EngineGolden, ::testing::Values("tiny-dense", "tiny-untied"),
                         [](const auto& info) {
                           return std::string(info.param) == "tiny-dense" ? "dense" : "untied";
                         });

class EngineTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { engine_ = StartTiny("tiny-dense").release(); }
  static void TearDownTestSuite() {
    delete engine_;
    engine_ = nullptr;
  }
  static Engine* engine_;
};
Engine* EngineTest::engine_ = nullptr;

TEST_F(EngineTest, UsageCountsTextAndImageTokens) {
  Recorder recorder;
  Submit(*engine_, Greedy("tiny-dense", "one_image", 5), recorder);
  recorder.Wait();
  const RequestUsage& usage = recorder.finished().usage;
  EXPECT_EQ(usage.prompt_tokens, 105);
  EXPECT_EQ(usage.image_tokens, 80);
  EXPECT_EQ(usage.completion_tokens, 5);
  EXPECT_GT(recorder.finished().timings.vision, 0);
  EXPECT_GT(recorder.finished().timings.prefill, 0);
  EXPECT_GT(recorder.finished().timings.decode, 0);
  // Also of a picture that is encoded in one step.
  EXPECT_TRUE(std::any_of(recorder.progress().begin(), recorder.progress().end(), [](const auto& progress) {
    return progress.stage == ProgressEvent::Stage::kVision && progress.total > 0;
  }));
}

TEST_F(EngineTest, StopStringsEndTheAnswerBeforeThem) {
  Recorder whole;
  Submit(*engine_, Greedy("tiny-dense", "text_only", 24), whole);
  whole.Wait();
  const std::string text = whole.text();
  ASSERT_GT(text.size(), 12U);
  const size_t at = text.find("as");  // spans what the reference writes as ")as" in its greedy text
  ASSERT_NE(at, std::string::npos) << text;
  ChatInput input = Greedy("tiny-dense", "text_only", 24);
  input.options.stop = {"no such text", text.substr(at, 4)};
  Recorder stopped;
  Submit(*engine_, input, stopped);
  stopped.Wait();
  EXPECT_EQ(stopped.text(), text.substr(0, at));
  EXPECT_EQ(stopped.finished().reason, FinishReason::kStop);
}

TEST_F(EngineTest, EndTokensEndTheAnswer) {
  Recorder whole;
  Submit(*engine_, Greedy("tiny-dense", "one_image", 12), whole);
  whole.Wait();
  ChatInput input = Greedy("tiny-dense", "one_image", 12);
  input.options.ignore_eos = false;
  Recorder recorder;
  Submit(*engine_, input, recorder);
  recorder.Wait();
  EXPECT_EQ(recorder.finished().usage.completion_tokens, static_cast<int64_t>(recorder.tokens().size()));
  EXPECT_LE(recorder.tokens().size(), whole.tokens().size());
}

TEST_F(EngineTest, TheSameSeedGivesTheSameTextAlsoInCompany) {
  const auto sampled = [](uint64_t seed) {
    ChatInput input = TextChat("Hello");
    input.options.temperature = 1.5F;
    input.options.top_k = 0;
    input.options.top_p = 1;
    input.options.seed = seed;
    input.options.max_tokens = 20;
    input.options.ignore_eos = true;
    return input;
  };
  Recorder alone, company, again, other;
  Submit(*engine_, sampled(7), alone);
  alone.Wait();
  Submit(*engine_, Greedy("tiny-dense", "two_images"), company);
  Submit(*engine_, sampled(7), again);
  Submit(*engine_, sampled(8), other);
  for (Recorder* recorder : {&company, &again, &other}) recorder->Wait();
  EXPECT_EQ(alone.tokens(), again.tokens());
  EXPECT_NE(alone.tokens(), other.tokens());
}

TEST_F(EngineTest, LogprobsComeWithEveryToken) {
  ChatInput input = Greedy("tiny-dense", "text_only", 6);
  input.options.top_logprobs = 3;
  Recorder recorder;
  Submit(*engine_, input, recorder);
  recorder.Wait();
  ASSERT_EQ(recorder.logprobs().size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    const TokenLogprob& logprob = recorder.logprobs()[i];
    EXPECT_EQ(logprob.token, recorder.tokens()[i]);
    ASSERT_EQ(logprob.top.size(), 3U);
    EXPECT_EQ(logprob.top[0].first, logprob.token);  // greedy: the best one
    EXPECT_GE(logprob.top[0].second, logprob.top[1].second);
    EXPECT_LE(logprob.logprob, 0);
  }
}

TEST_F(EngineTest, CancelEndsOneRequestAndFreesItsPages) {
  Recorder endless, other;
  ChatInput input = TextChat("go on");
  input.options.ignore_eos = true;
  input.options.max_tokens = 4000;
  const Engine::RequestId id = Submit(*engine_, input, endless);
  endless.WaitForTokens(3);
  Submit(*engine_, Greedy("tiny-dense", "one_image"), other);
  engine_->Cancel(id);
  endless.Wait();
  other.Wait();
  EXPECT_EQ(endless.finished().reason, FinishReason::kCancelled);
  EXPECT_EQ(endless.ends(), 1);
  EXPECT_EQ(other.tokens().size(), 48U);
  engine_->Cancel(id);         // too late: ignored
  engine_->Cancel(1'000'000);  // unknown: ignored
}

TEST_F(EngineTest, APromptThatDoesNotFitSaysByHowMuch) {
  std::string text;
  for (int i = 0; i < 9000; ++i) text += " 7";
  EXPECT_THAT(engine_->Prepare(TextChat(text)), FailsWith(StatusCode::kInvalidArgument, HasSubstr("tokens")));
}

TEST_F(EngineTest, ABrokenPictureIsNamed) {
  ChatInput input = GoldenChat("tiny-dense", "two_images");
  input.pictures[1].bytes = testing::ReadBytes(GoldenFolder() / "bad_images/truncated.jpg");
  const auto request = engine_->Prepare(input);
  EXPECT_THAT(request, FailsWith(StatusCode::kInvalidArgument, HasSubstr("")));
  EXPECT_EQ(request.status().param(), "pictures[1]");
}

TEST_F(EngineTest, PixelLimitsOfARequestCount) {
  ChatInput input = GoldenChat("tiny-dense", "one_image");
  input.pictures[0].limits = PixelLimits{1024, 16384};
  const auto request = engine_->Prepare(input);
  SACCADE_ASSERT_OK(request);
  EXPECT_EQ(Engine::Cost(**request).image_tokens,
            12);  // 160 x 96 -> 5 x 3... smaller than the 80 of the default
}

TEST(EngineImageCache, TheSamePictureIsEncodedOnceAndAnswersStayTheSame) {
  const std::unique_ptr<Engine> engine = StartTiny("tiny-dense");
  std::vector<std::unique_ptr<Recorder>> recorders;
  for (int i = 0; i < 10; ++i) {
    recorders.push_back(std::make_unique<Recorder>());
    Submit(*engine, Greedy("tiny-dense", "one_image"), *recorders.back());
  }
  for (const auto& recorder : recorders) recorder->Wait();
  Recorder later, other;
  Submit(*engine, Greedy("tiny-dense", "one_image"), later);
  later.Wait();
  for (const auto& recorder : recorders) EXPECT_EQ(recorder->tokens(), later.tokens());
  EXPECT_EQ(later.finished().timings.vision, 0);
  Submit(*engine, Greedy("tiny-dense", "wide_image"), other);
  other.Wait();
  while (engine->Stats().requests_finished != 12) std::this_thread::yield();
  EXPECT_EQ(engine->Stats().pictures_encoded, 2);
  EXPECT_GT(engine->Stats().image_cache_bytes, 0);
}

TEST(EngineImageCache, ACancelledRequestLeavesThePictureToTheOthers) {
  EngineOptions options;
  options.image_cache_bytes = 0;  // only the encoding under way is shared
  const std::unique_ptr<Engine> engine = StartTiny("tiny-dense", options);
  Recorder first, second;
  const Engine::RequestId id = Submit(*engine, Greedy("tiny-dense", "one_image"), first);
  Submit(*engine, Greedy("tiny-dense", "one_image"), second);
  engine->Cancel(id);
  first.Wait();
  second.Wait();
  EXPECT_EQ(second.tokens().size(), 48U);
  EXPECT_EQ(engine->Stats().image_cache_bytes, 0);
}

TEST(EnginePrefixCache, ASecondQuestionComputesOnlyWhatIsNew) {
  const std::unique_ptr<Engine> engine = StartTiny("tiny-dense");
  Recorder first, again, other;
  Submit(*engine, Greedy("tiny-dense", "one_image"), first);
  first.Wait();
  EXPECT_EQ(first.finished().usage.cached_tokens, 0);
  Submit(*engine, Greedy("tiny-dense", "one_image"), again);
  again.Wait();
  EXPECT_EQ(again.finished().usage.cached_tokens, 104);  // all but the last of 105
  EXPECT_EQ(again.tokens(), first.tokens());
  Submit(*engine, Greedy("tiny-dense", "wide_image"), other);
  other.Wait();
  EXPECT_LT(other.finished().usage.cached_tokens, 10);  // the words before the picture
  while (engine->Stats().requests_finished != 3) std::this_thread::yield();
  EXPECT_EQ(engine->Stats().kv_pages_used, 0);
  EXPECT_GT(engine->Stats().kv_pages_cached, 0);
  EXPECT_EQ(engine->Stats().cached_tokens, 104 + other.finished().usage.cached_tokens);
}

TEST(EnginePrefixCache, APictureInsideTheKnownPartIsNotEncodedAgain) {
  EngineOptions options;
  options.image_cache_bytes = 0;
  const std::unique_ptr<Engine> engine = StartTiny("tiny-dense", options);
  Recorder first, again;
  Submit(*engine, Greedy("tiny-dense", "one_image"), first);
  first.Wait();
  Submit(*engine, Greedy("tiny-dense", "one_image"), again);
  again.Wait();
  EXPECT_EQ(again.tokens(), first.tokens());
  EXPECT_EQ(again.finished().timings.vision, 0);
  EXPECT_EQ(engine->Stats().pictures_encoded, 1);
}

TEST(EnginePrefixCache, ScopesShareNothing) {
  const std::unique_ptr<Engine> engine = StartTiny("tiny-dense");
  const auto ask = [&](const std::string& scope) {
    ChatInput input = Greedy("tiny-dense", "one_image", 4);
    input.cache_scope = scope;
    Recorder recorder;
    Submit(*engine, input, recorder);
    recorder.Wait();
    return recorder.finished().usage.cached_tokens;
  };
  EXPECT_EQ(ask("alice"), 0);
  EXPECT_EQ(ask("bob"), 0);
  EXPECT_EQ(engine->Stats().pictures_encoded, 2);
  EXPECT_EQ(ask("alice"), 104);
}

TEST(EngineQueue, RefusesWhenTooManyWait) {
  EngineOptions options;
  options.max_running = 1;
  options.max_waiting = 2;
  const std::unique_ptr<Engine> engine = StartTiny("tiny-dense", options);
  ChatInput input = TextChat("go on");
  input.options.ignore_eos = true;
  input.options.max_tokens = 3000;
  Recorder running;
  const Engine::RequestId id = Submit(*engine, input, running);
  running.WaitForTokens(1);
  Recorder first, second;
  ChatInput brief = TextChat("a");
  brief.options.max_tokens = 2;
  Submit(*engine, brief, first);
  Submit(*engine, brief, second);
  const auto request = engine->Prepare(TextChat("c")).value();
  EXPECT_THAT(engine->Submit(request, [](Event) {}),
              FailsWith(StatusCode::kResourceExhausted, HasSubstr("waiting")));
  engine->Cancel(id);
  first.Wait();
  second.Wait();
}

TEST(EngineStop, EndsEveryRequestOnce) {
  Recorder running, waiting;
  {
    EngineOptions options;
    options.max_running = 1;
    const std::unique_ptr<Engine> engine = StartTiny("tiny-dense", options);
    ChatInput input = TextChat("go on");
    input.options.ignore_eos = true;
    input.options.max_tokens = 3000;
    Submit(*engine, input, running);
    running.WaitForTokens(1);
    Submit(*engine, input, waiting);
  }
  EXPECT_EQ(running.finished().reason, FinishReason::kCancelled);
  EXPECT_EQ(waiting.finished().reason, FinishReason::kCancelled);
  EXPECT_EQ(running.ends(), 1);
  EXPECT_EQ(waiting.ends(), 1);
}

}  // namespace
}  // namespace saccade
