// What a request costs before it runs, pictures that are made to fit, and several answers to one request.
#include "engine_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenChat;
using ::saccade::testing::Recorder;
using ::saccade::testing::StartTiny;
using ::saccade::testing::Submit;
using ::saccade::testing::TextChat;

constexpr const char* kModel = "tiny-dense";

std::unique_ptr<Engine> StartSmall(int64_t kv_tokens, bool prefix_cache = true) {
  EngineOptions options;
  options.kv_cache_tokens = kv_tokens;
  options.prefix_cache = prefix_cache;
  return StartTiny(kModel, options);
}

TEST(Estimate, EqualsWhatTheRequestThenTakes) {
  const auto engine = StartSmall(8192);
  for (const char* name : {"text_only", "one_image", "wide_image", "two_images", "two_turns"}) {
    SCOPED_TRACE(name);
    ChatInput input = GoldenChat(kModel, name);
    input.options.max_tokens = 3;
    SACCADE_ASSERT_OK_AND_ASSIGN(const RequestEstimate estimate, engine->Estimate(input));
    Recorder recorder;
    Submit(*engine, input, recorder);
    recorder.Wait();
    EXPECT_EQ(estimate.prompt_tokens, recorder.finished().usage.prompt_tokens);
    EXPECT_EQ(estimate.image_tokens, recorder.finished().usage.image_tokens);
    EXPECT_EQ(estimate.pictures.size(), input.pictures.size());
    EXPECT_EQ(estimate.max_tokens, 3);
    int64_t tokens = 0;
    for (const auto& picture : estimate.pictures) tokens += picture.tokens;
    EXPECT_EQ(tokens, estimate.image_tokens);
    EXPECT_EQ(estimate.picture_bytes > 0, estimate.image_tokens > 0);
    EXPECT_GT(estimate.kv_bytes, 0);
  }
}

TEST(Estimate, RefusesWhatPrepareRefuses) {
  const auto engine = StartSmall(8192);
  ChatInput input = GoldenChat(kModel, "two_images");
  input.pictures[1].bytes = std::make_shared<const std::vector<std::byte>>(20, std::byte{7});
  const auto estimate = engine->Estimate(input);
  EXPECT_THAT(estimate.status(), FailsWith(StatusCode::kInvalidArgument, ::testing::_));
  EXPECT_EQ(estimate.status().param(), "pictures[1]");
  EXPECT_EQ(engine->Prepare(input).status().ToString(), estimate.status().ToString());
}

TEST(AutoFit, ShrinksTheLargestPicturesUntilTheAnswerFits) {
  const auto roomy = StartSmall(8192);
  ChatInput input = GoldenChat(kModel, "two_images");
  input.options.max_tokens = 20;
  SACCADE_ASSERT_OK_AND_ASSIGN(const RequestEstimate whole, roomy->Estimate(input));
  input.auto_fit = true;
  SACCADE_ASSERT_OK_AND_ASSIGN(const RequestEstimate same, roomy->Estimate(input));
  EXPECT_EQ(same.prompt_tokens, whole.prompt_tokens);  // nothing to do

  // 64 tokens are a page, and one page is kept for the token under way.
  const int64_t context = (whole.prompt_tokens + 20 - 1) / 64 * 64;
  const auto tight = StartSmall(context + 64);
  input.auto_fit = false;
  if (whole.prompt_tokens >= context) {
    EXPECT_THAT(tight->Estimate(input).status(), FailsWith(StatusCode::kInvalidArgument, ::testing::_));
  }
  input.auto_fit = true;
  SACCADE_ASSERT_OK_AND_ASSIGN(const RequestEstimate fitted, tight->Estimate(input));
  EXPECT_LT(fitted.image_tokens, whole.image_tokens);
  EXPECT_LE(fitted.prompt_tokens + 20, context);
  EXPECT_EQ(fitted.max_tokens, 20);
  Recorder recorder;
  Submit(*tight, input, recorder);
  recorder.Wait();
  EXPECT_EQ(recorder.finished().usage.prompt_tokens, fitted.prompt_tokens);
  EXPECT_GT(recorder.finished().usage.completion_tokens, 0);
}

TEST(AutoFit, CannotHelpAnOverlongText) {
  const auto engine = StartSmall(256);
  ChatInput input = TextChat(std::string(4000, 'x') + " y");
  input.auto_fit = true;
  EXPECT_THAT(engine->Estimate(input).status(), FailsWith(StatusCode::kInvalidArgument, ::testing::_));
}

TEST(RawPrompt, IsGoneOnFrom) {
  const auto engine = StartSmall(8192);
  ChatInput chat = TextChat("Hello there");
  chat.options.max_tokens = 6;
  chat.options.ignore_eos = true;
  Recorder expected;
  Submit(*engine, chat, expected);
  expected.Wait();
  ChatInput raw;
  raw.options = chat.options;
  const Checkpoint& checkpoint = engine->checkpoint();
  raw.prompt_tokens = EncodePrompt(checkpoint.tokenizer, RenderChat(chat.conversation)).value();
  Recorder recorder;
  Submit(*engine, raw, recorder);
  recorder.Wait();
  EXPECT_EQ(recorder.tokens(), expected.tokens());

  raw.prompt_tokens = {1, 2, checkpoint.tokenizer.vocab_size()};
  EXPECT_THAT(engine->Prepare(raw).status(), FailsWith(StatusCode::kInvalidArgument, ::testing::_));
  raw.prompt_tokens = {checkpoint.model->config().image_token};  // a picture's place without a picture
  EXPECT_THAT(engine->Prepare(raw).status(), FailsWith(StatusCode::kInvalidArgument, ::testing::_));
}

class Choices : public ::testing::TestWithParam<bool> {};

TEST_P(Choices, ShareThePromptAndDifferInTheirRandomNumbers) {
  const auto engine = StartSmall(8192, GetParam());
  ChatInput input = GoldenChat(kModel, "two_images");
  input.options.max_tokens = 12;
  input.options.ignore_eos = true;
  input.options.temperature = 2.0F;
  input.options.seed = 5;
  Recorder alone;
  Submit(*engine, input, alone);
  alone.Wait();

  const auto fresh = StartSmall(8192, GetParam());
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::shared_ptr<const PreparedRequest> request, fresh->Prepare(input));
  Recorder answers[3];
  for (int i = 0; i < 3; ++i) SACCADE_ASSERT_OK(fresh->Submit(request, answers[i].Sink(), i));
  for (Recorder& answer : answers) answer.Wait();
  EXPECT_EQ(answers[0].tokens(), alone.tokens());
  EXPECT_NE(answers[1].tokens(), answers[0].tokens());
  EXPECT_NE(answers[2].tokens(), answers[1].tokens());
  const int64_t whole_pages = answers[0].finished().usage.prompt_tokens / 64 * 64;
  EXPECT_EQ(answers[0].finished().usage.cached_tokens, 0);
  for (int i = 1; i < 3; ++i)
    EXPECT_EQ(answers[i].finished().usage.cached_tokens, GetParam() ? whole_pages : 0);
  EXPECT_EQ(fresh->Stats().pictures_encoded, 2);
}

INSTANTIATE_TEST_SUITE_P(PrefixCache, Choices, ::testing::Bool());

}  // namespace
}  // namespace saccade
