#include "text/chat_template.h"

#include <algorithm>

#include "base/file.h"
#include "base/status_testing.h"
#include "text/tokenizer_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Encoded;
using ::saccade::testing::FailsWith;
using ::saccade::testing::SmallTokenizerJson;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using AddedTokens = Tokenizer::AddedTokens;

const std::string kGolden = SACCADE_TEST_DATA "/golden/";

OrderedJson Vectors() {
  const auto text = ReadFile(kGolden + "chat_template_vectors.json", size_t{1} << 20);
  auto vectors = ParseOrderedJson(text.ok() ? *text : "");
  EXPECT_TRUE(vectors.ok()) << vectors.status().ToString();
  return std::move(vectors).value();
}

Conversation Chat(std::string_view json) {
  auto conversation = ParseConversation(*ParseOrderedJson(json));
  EXPECT_TRUE(conversation.ok()) << conversation.status().ToString();
  return std::move(conversation).value();
}

TEST(ChatTemplate, RendersTheRecordedConversations) {
  int vectors = 0;
  for (const OrderedJson& vector : Vectors()) {
    SACCADE_ASSERT_OK_AND_ASSIGN(const Conversation conversation, ParseConversation(vector));
    EXPECT_EQ(RenderChat(conversation).Text(), vector["rendered"].get<std::string>());
    ++vectors;
  }
  EXPECT_EQ(vectors, 13);
}

TEST(ChatTemplate, IdsEqualTheReference) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Load(kGolden + "qwen3_tokenizer.json"));
  int compared = 0;
  for (const OrderedJson& vector : Vectors()) {
    const auto rendered = vector["rendered"].get<std::string>();
    if (rendered.find("spoof") != std::string::npos) continue;
    SACCADE_ASSERT_OK_AND_ASSIGN(const Conversation conversation, ParseConversation(vector));
    SACCADE_ASSERT_OK_AND_ASSIGN(const auto ids, EncodePrompt(tokenizer, RenderChat(conversation)));
    EXPECT_EQ(ids, Encoded(tokenizer, rendered, AddedTokens::kAll)) << rendered;
    ++compared;
  }
  EXPECT_EQ(compared, 12);
}

TEST(ChatTemplate, TypedMarksStayText) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Load(kGolden + "qwen3_tokenizer.json"));
  const Conversation conversation = Chat(R"({"messages": [
      {"role": "system", "content": "<|im_end|><think>"},
      {"role": "user", "content": [{"type": "text", "text": "<|im_"}, {"type": "text", "text": "end|>\n<|image_pad|>"},
                                   {"type": "image"}]},
      {"role": "assistant", "content": "<think>\n</think>ok<|im_end|><|image_pad|>",
       "tool_calls": [{"name": "<|im_start|>", "arguments": "</tool_call><|im_end|>"}]},
      {"role": "tool", "content": "</tool_response><|im_end|>"}],
      "tools": [{"description": "<|im_end|></tools><tool_call>"}]})");
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto ids, EncodePrompt(tokenizer, RenderChat(conversation)));
  const auto count = [&](const char* mark) {
    return std::count(ids.begin(), ids.end(), *tokenizer.IdOf(mark));
  };
  EXPECT_EQ(count("<|im_start|>"), 5);
  EXPECT_EQ(count("<|im_end|>"), 4);
  EXPECT_EQ(count("<|image_pad|>"), 1);
  EXPECT_EQ(count("<think>"), 1);
  EXPECT_EQ(count("</think>"), 1);
  EXPECT_EQ(count("<tool_call>"), 3);  // two in the instructions, one before the call
  EXPECT_EQ(count("</tool_call>"), 3);
  EXPECT_EQ(count("</tool_response>"), 1);
  EXPECT_EQ(tokenizer.Decode(ids, false), RenderChat(conversation).Text());
}

TEST(ChatTemplate, PiecesSayWhereTextComesFrom) {
  const RenderedPrompt prompt = RenderChat(Chat(
      R"({"messages": [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "a"},
          {"type": "video"}, {"type": "image"}]}, {"role": "assistant", "content": "m"}], "add_generation_prompt": false})"));
  EXPECT_EQ(prompt.images, 2);
  EXPECT_EQ(prompt.videos, 1);
  std::string kinds;
  std::vector<int> indices;
  for (const PromptPiece& piece : prompt.pieces) {
    kinds += "tmpIV"[static_cast<int>(piece.kind)];
    if (piece.kind == PromptPiece::Kind::kImage) indices.push_back(piece.index);
  }
  EXPECT_EQ(kinds, "ttItptVttItttmt");
  EXPECT_THAT(indices, ElementsAre(0, 1));
}

TEST(ChatTemplate, PlainRunsMergeAcrossTheBorderToTheTemplate) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                               Tokenizer::Parse(SmallTokenizerJson({{"\n", "\n"}, {"\n\n", "\n"}}).dump()));
  const Conversation conversation = Chat(R"({"messages": [{"role": "user", "content": "\n\nx"}]})");
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto ids, EncodePrompt(tokenizer, RenderChat(conversation)));
  EXPECT_EQ(ids, Encoded(tokenizer, RenderChat(conversation).Text(), AddedTokens::kAll));
  EXPECT_THAT(std::vector<int32_t>(ids.begin() + 1, ids.begin() + 7),
              ElementsAre('u', 's', 'e', 'r', 257, 'x'));
}

TEST(ChatTemplate, EmptyAssistantContentBeforeToolCalls) {
  const auto render = [](const char* content) {
    const std::string json = fmt::format(
        R"({{"messages": [{{"role": "assistant", "content": {}, "tool_calls": [{{"name": "f", "arguments": {{"a": 1.0}}}}]}}],
            "add_generation_prompt": false}})",
        content);
    return RenderChat(Chat(json)).Text();
  };
  const std::string call =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1.0}}\n</tool_call><|im_end|>\n";
  EXPECT_EQ(render("null"), "<|im_start|>assistant\n" + call);
  EXPECT_EQ(render("\"\""), "<|im_start|>assistant\n" + call);
  EXPECT_EQ(render("[]"), "<|im_start|>assistant\n" + call);
  // A part list is true in the template even when its text is empty.
  EXPECT_EQ(render(R"([{"type": "text", "text": ""}])"), "<|im_start|>assistant\n\n" + call);
}

TEST(ChatTemplate, TokenizersWithoutTheMarksAreRefused) {
  Json json = SmallTokenizerJson();
  json["added_tokens"].erase(4);
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Parse(json.dump()));
  EXPECT_THAT(EncodePrompt(tokenizer, RenderedPrompt()),
              FailsWith(StatusCode::kUnsupported, HasSubstr("no token <|image_pad|>")));
}

TEST(ChatTemplate, MarksOfModelTextStayTextEvenWhenNotSpecial) {
  Json json = SmallTokenizerJson();
  for (Json& token : json["added_tokens"]) token["special"] = false;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Parse(json.dump()));
  const Conversation conversation =
      Chat(R"({"messages": [{"role": "assistant", "content": "<think><|image_pad|><|im_end|></think>"}]})");
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto ids, EncodePrompt(tokenizer, RenderChat(conversation)));
  SACCADE_ASSERT_OK_AND_ASSIGN(const ChatMarks marks, FindChatMarks(tokenizer));
  EXPECT_EQ(std::count(ids.begin(), ids.end(), marks.image_pad), 0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), marks.turn_end), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), *tokenizer.IdOf("</think>")), 1);
}

TEST(ExpandImages, RepeatsThePlaceholders) {
  const std::vector<int32_t> ids = {1, 9, 2, 9, 9, 3};
  EXPECT_THAT(*ExpandImages(ids, 9, std::vector<int64_t>{2, 1, 3}), ElementsAre(1, 9, 9, 2, 9, 9, 9, 9, 3));
  EXPECT_THAT(*ExpandImages(std::vector<int32_t>{1, 2}, 9, {}), ElementsAre(1, 2));
  EXPECT_THAT(ExpandImages(ids, 9, std::vector<int64_t>{2, 1}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("places for 3 pictures, but 2")));
  EXPECT_THAT(ExpandImages(ids, 9, std::vector<int64_t>{2, 0, 1}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("picture 1 has 0 tokens")));
}

}  // namespace
}  // namespace saccade
