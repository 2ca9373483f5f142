#include "text/messages.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;
using Kind = ContentPart::Kind;

Result<std::vector<Message>> Parse(std::string_view json) { return ParseMessages(*ParseOrderedJson(json)); }

// One user message with one part.
Result<ContentPart> ParseOnePart(std::string_view part) {
  auto messages = Parse(fmt::format(R"([{{"role": "user", "content": [{}]}}])", part));
  if (!messages.ok()) return std::move(messages).status();
  return std::move(messages->at(0).parts.at(0));
}

TEST(Messages, ReadsRolesAndContent) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto messages, Parse(R"([
      {"role": "developer", "content": "be terse", "name": "ignored"},
      {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}, {"text": "c"}]},
      {"role": "assistant", "content": null, "tool_calls": [
          {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{\"x\": 1}"}},
          {"name": "g", "arguments": {"y": 2}}, {"name": "h"}]},
      {"role": "tool", "tool_call_id": "call_1", "content": "done"}])"));
  ASSERT_EQ(messages.size(), 4U);
  EXPECT_EQ(messages[0].role, Role::kSystem);
  EXPECT_TRUE(messages[0].content_is_string);
  EXPECT_EQ(messages[0].parts[0].text, "be terse");
  EXPECT_FALSE(messages[1].content_is_string);
  ASSERT_EQ(messages[1].parts.size(), 3U);
  EXPECT_EQ(messages[1].parts[2].text, "c");
  EXPECT_FALSE(messages[2].HasContent());
  ASSERT_EQ(messages[2].tool_calls.size(), 3U);
  EXPECT_EQ(messages[2].tool_calls[0].id, "call_1");
  EXPECT_EQ(messages[2].tool_calls[0].arguments, "{\"x\": 1}");
  EXPECT_EQ(messages[2].tool_calls[1].arguments["y"], 2);
  EXPECT_EQ(messages[2].tool_calls[2].arguments, OrderedJson::object());
  EXPECT_EQ(messages[3].tool_call_id, "call_1");
}

TEST(Messages, ReadsEverySpellingOfAPicture) {
  const std::pair<const char*, const char*> spellings[] = {
      {R"({"type": "image_url", "image_url": {"url": "SRC", "detail": "low"}})",
       "messages[0].content[0].image_url"},
      {R"({"type": "image_url", "image_url": "SRC"})", "messages[0].content[0].image_url"},
      {R"({"type": "input_image", "image_url": "SRC"})", "messages[0].content[0].image_url"},
      {R"({"type": "image", "image": "SRC"})", "messages[0].content[0].image"},
      {R"({"type": "image", "url": "SRC"})", "messages[0].content[0].url"},
      {R"({"type": "image", "path": "SRC"})", "messages[0].content[0].path"},
      {R"({"image": "SRC"})", "messages[0].content[0].image"},
      {R"({"type": "text", "text": "shadowed", "image": "SRC"})", "messages[0].content[0].image"}};
  for (const auto& [json, param] : spellings) {
    SACCADE_ASSERT_OK_AND_ASSIGN(const ContentPart part, ParseOnePart(json));
    EXPECT_EQ(part.kind, Kind::kImage) << json;
    EXPECT_EQ(part.source, "SRC") << json;
    EXPECT_EQ(part.param, param);
  }
  SACCADE_ASSERT_OK_AND_ASSIGN(const ContentPart bare, ParseOnePart(R"({"type": "image"})"));
  EXPECT_EQ(bare.kind, Kind::kImage);
  EXPECT_EQ(bare.source, "");
  EXPECT_EQ(bare.param, "messages[0].content[0]");
  EXPECT_EQ(ParseOnePart(R"({"type": "image", "base64": "QUJD"})")->source, "data:;base64,QUJD");
  EXPECT_EQ(ParseOnePart(R"({"type": "video_url", "video_url": {"url": "v"}})")->kind, Kind::kVideo);
  EXPECT_EQ(ParseOnePart(R"({"type": "video"})")->kind, Kind::kVideo);
  EXPECT_EQ(ParseOnePart(R"({"type": "text", "text": "t", "image_url": null})")->kind, Kind::kText);
}

TEST(Messages, ReadsPixelLimitsAndDetail) {
  SACCADE_ASSERT_OK_AND_ASSIGN(
      const ContentPart part,
      ParseOnePart(
          R"({"type": "image_url", "min_pixels": 1024, "image_url": {"url": "u", "max_pixels": 4096, "detail": "high"}})"));
  EXPECT_EQ(part.min_pixels, 1024);
  EXPECT_EQ(part.max_pixels, 4096);
  EXPECT_EQ(part.detail, "high");
  EXPECT_EQ(ParseOnePart(R"({"type": "image", "detail": "auto"})")->detail, "auto");
}

TEST(Messages, ListsPicturesInOrder) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Conversation conversation,
                               ParseConversation(*ParseOrderedJson(R"({"messages": [
      {"role": "user", "content": [{"type": "image", "image": "1"}, {"type": "video"}, {"type": "image", "image": "2"}]},
      {"role": "tool", "content": [{"type": "image", "image": "3"}]}]})")));
  std::vector<std::string> sources;
  for (const ContentPart* part : conversation.Images()) sources.push_back(part->source);
  EXPECT_THAT(sources, ::testing::ElementsAre("1", "2", "3"));
  EXPECT_TRUE(conversation.add_generation_prompt);
  EXPECT_FALSE(conversation.add_vision_id);
  EXPECT_TRUE(conversation.tools.is_null());
}

struct BadMessages {
  const char* json;
  const char* param;
  const char* reason;
};

TEST(Messages, ErrorsNameThePartAtFault) {
  const BadMessages cases[] = {
      {"{}", "messages", "must be an array"},
      {"[]", "messages", "is empty"},
      {R"(["hi"])", "messages[0]", "must be an object, not string"},
      {R"([{"content": "x"}])", "messages[0].role", "\"role\" is missing"},
      {R"([{"role": "robot", "content": "x"}])", "messages[0].role", "\"robot\" is unknown"},
      {R"([{"role": "user"}])", "messages[0].content", "is missing"},
      {R"([{"role": "user", "content": 7}])", "messages[0].content", "not number"},
      {R"([{"role": "user", "content": "x"}, {"role": "system", "content": "y"}])", "messages[1].role",
       "only come first"},
      {R"([{"role": "user", "content": ["x"]}])", "messages[0].content[0]", "must be an object"},
      {R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0].text", "is missing"},
      {R"([{"role": "user", "content": [{"type": "text", "text": 1}]}])", "messages[0].content[0].text",
       "must be a string"},
      {R"([{"role": "user", "content": [{"type": 1}]}])", "messages[0].content[0].type", "must be a string"},
      {R"([{"role": "user", "content": [{"type": "text", "text": ""}, {"type": "input_audio"}]}])",
       "messages[0].content[1].type", "\"input_audio\" is not supported"},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}])",
       "messages[0].content[0].image_url.url", "is missing"},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": 1}}]}])",
       "messages[0].content[0].image_url.url", "must be a string"},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": 5}]}])",
       "messages[0].content[0].image_url", "must be a string"},
      {R"([{"role": "user", "content": [{"type": "image", "min_pixels": -1}]}])",
       "messages[0].content[0].min_pixels", "is -1"},
      {R"([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u", "max_pixels": "x"}}]}])",
       "messages[0].content[0].image_url.max_pixels", "whole number"},
      {R"([{"role": "system", "content": [{"type": "image"}]}])", "messages[0].content[0].type",
       "user and tool messages only"},
      {R"([{"role": "assistant", "content": [{"type": "image"}]}])", "messages[0].content[0].type",
       "user and tool"},
      {R"([{"role": "assistant", "tool_calls": {}}])", "messages[0].tool_calls", "must be an array"},
      {R"([{"role": "assistant", "tool_calls": [1]}])", "messages[0].tool_calls[0]", "must be an object"},
      {R"([{"role": "assistant", "tool_calls": [{"function": "f"}]}])", "messages[0].tool_calls[0].function",
       "must be an object"},
      {R"([{"role": "assistant", "tool_calls": [{"function": {}}]}])",
       "messages[0].tool_calls[0].function.name", "missing"},
      {R"([{"role": "assistant", "tool_calls": [{"name": "f", "arguments": 1}]}])",
       "messages[0].tool_calls[0].arguments", "object or a string"},
      {R"([{"role": "tool", "content": "x", "tool_call_id": 3}])", "messages[0].tool_call_id",
       "must be a string"},
  };
  for (const BadMessages& c : cases) {
    const auto result = Parse(c.json);
    ASSERT_FALSE(result.ok()) << c.json;
    EXPECT_EQ(result.status().param(), c.param) << c.json;
    EXPECT_THAT(result.status().message(), HasSubstr(c.reason)) << c.json;
  }
}

TEST(Conversation, ChecksTheRest) {
  const auto parse = [](const char* json) { return ParseConversation(*ParseOrderedJson(json)); };
  const auto kInvalid = StatusCode::kInvalidArgument;
  EXPECT_THAT(parse("[]"), FailsWith(kInvalid, HasSubstr("must be a JSON object")));
  EXPECT_THAT(parse("{}"), FailsWith(kInvalid, HasSubstr("\"messages\" is missing")));
  const std::string messages = R"("messages": [{"role": "user", "content": "x"}])";
  EXPECT_EQ(parse(("{" + messages + R"(, "tools": 1})").c_str()).status().param(), "tools");
  EXPECT_EQ(parse(("{" + messages + R"(, "tools": [{}, 1]})").c_str()).status().param(), "tools[1]");
  EXPECT_EQ(parse(("{" + messages + R"(, "add_vision_id": "yes"})").c_str()).status().param(),
            "add_vision_id");
  SACCADE_EXPECT_OK(parse(("{" + messages + R"(, "tools": null, "temperature": 0})").c_str()));
}

}  // namespace
}  // namespace saccade
