#include "server/chat_request.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/status_testing.h"

namespace saccade {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PicturePartOptions Options() {
  PicturePartOptions options;
  options.max_pictures = 3;
  options.defaults = {65536, 1'000'000};
  return options;
}

Result<ChatRequest> Parse(const std::string& body) { return ParseChatRequest(body, Options()); }

// A request with these members beside a plain message.
Result<ChatRequest> ParseWith(const std::string& members) {
  return Parse(R"({"messages":[{"role":"user","content":"hi"}],)" + members + "}");
}

// A request whose second content part is this.
Result<ChatRequest> ParsePart(const std::string& part, const std::string& members = "") {
  return Parse(R"({"messages":[{"role":"user","content":[{"type":"text","text":"hi"},)" + part + "]}]" +
               members + "}");
}

void ExpectRefused(const Result<ChatRequest>& result, StatusCode code, std::string_view param,
                   std::string_view message = "") {
  ASSERT_FALSE(result.ok()) << "accepted; expected param " << param;
  EXPECT_EQ(result.status().code(), code) << result.status().ToString();
  EXPECT_EQ(result.status().param(), param) << result.status().ToString();
  EXPECT_THAT(result.status().message(), HasSubstr(std::string(message)));
}

std::string BytesOf(const PictureInput& picture) {
  return {reinterpret_cast<const char*>(picture.bytes->data()), picture.bytes->size()};
}

TEST(ChatRequest, ReadsEveryOption) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const ChatRequest request, ParseWith(R"("model":"m","stream":true,
      "stream_options":{"include_usage":true},"max_tokens":5,"max_completion_tokens":7,"temperature":0.5,"top_p":0.9,
      "top_k":40,"min_p":0.05,"presence_penalty":-1,"frequency_penalty":2,"repetition_penalty":1.1,"seed":-3,
      "stop":["a","b"],"n":1,"logprobs":true,"top_logprobs":3,"ignore_eos":true,"user":"someone","unknown":{})"));
  EXPECT_EQ(request.model, "m");
  EXPECT_TRUE(request.stream && request.include_usage && request.logprobs);
  const GenerationOptions& options = request.input.options;
  EXPECT_EQ(options.max_tokens, 7);
  EXPECT_FLOAT_EQ(*options.temperature, 0.5f);
  EXPECT_FLOAT_EQ(*options.top_p, 0.9f);
  EXPECT_EQ(options.top_k, 40);
  EXPECT_FLOAT_EQ(*options.min_p, 0.05f);
  EXPECT_FLOAT_EQ(*options.presence_penalty, -1);
  EXPECT_FLOAT_EQ(*options.frequency_penalty, 2);
  EXPECT_FLOAT_EQ(*options.repetition_penalty, 1.1f);
  EXPECT_EQ(options.seed, static_cast<uint64_t>(-3));
  EXPECT_THAT(options.stop, ElementsAre("a", "b"));
  EXPECT_EQ(options.top_logprobs, 3);
  EXPECT_TRUE(options.ignore_eos);
}

TEST(ChatRequest, LeavesUnsetWhatIsAbsentOrNull) {
  SACCADE_ASSERT_OK_AND_ASSIGN(
      const ChatRequest request,
      ParseWith(R"("temperature":null,"stop":null,"max_tokens":null,"stream":null)"));
  EXPECT_EQ(request.model, "default");
  EXPECT_FALSE(request.input.options.temperature.has_value());
  EXPECT_FALSE(request.input.options.max_tokens.has_value());
  EXPECT_TRUE(request.input.options.stop.empty());
  EXPECT_EQ(request.input.options.top_logprobs, -1);
  EXPECT_FALSE(request.stream);
}

TEST(ChatRequest, NamesTheWrongField) {
  const std::pair<const char*, const char*> wrong[] = {
      {"model", "3"},
      {"stream", "\"yes\""},
      {"stream_options", "true"},
      {"max_tokens", "0"},
      {"max_tokens", "-1"},
      {"max_tokens", "1.5"},
      {"max_tokens", "\"5\""},
      {"max_tokens", "1e300"},
      {"max_completion_tokens", "0"},
      {"temperature", "-0.1"},
      {"temperature", "2.1"},
      {"temperature", "\"hot\""},
      {"top_p", "1.5"},
      {"top_k", "-2"},
      {"min_p", "-1"},
      {"presence_penalty", "3"},
      {"frequency_penalty", "-3"},
      {"repetition_penalty", "0"},
      {"seed", "1.5"},
      {"seed", "99999999999999999999"},
      {"stop", "3"},
      {"stop", "[1]"},
      {"stop",
       "[\"1\",\"2\",\"3\",\"4\",\"5\",\"6\",\"7\",\"8\",\"9\",\"10\",\"11\",\"12\",\"13\",\"14\",\"15\","
       "\"16\",\"17\"]"},
      {"n", "17"},
      {"n", "0"},
      {"logprobs", "1"},
      {"top_logprobs", "21"},
      {"top_logprobs", "5"},  // without logprobs
      {"ignore_eos", "0"},
      {"min_pixels", "0"},
      {"max_pixels", "-5"},
  };
  for (const auto& [name, value] : wrong) {
    SCOPED_TRACE(fmt::format("{} = {}", name, value));
    ExpectRefused(ParseWith(fmt::format("\"{}\":{}", name, value)), StatusCode::kInvalidArgument, name);
  }
  ExpectRefused(ParseWith(R"("stream_options":{"include_usage":3})"), StatusCode::kInvalidArgument,
                "stream_options.include_usage");
}

TEST(ChatRequest, RefusesWhatIsNotSupportedYetUnlessItAsksForNothing) {
  const std::pair<const char*, const char*> unsupported[] = {
      {"tools", R"([{"type":"function"}])"},
      {"tool_choice", "\"required\""},
      {"functions", R"([{"name":"f"}])"},
      {"response_format", R"({"type":"json_object"})"},
      {"logit_bias", R"({"1":5})"},
      {"modalities", R"(["text","audio"])"},
      {"audio", R"({"voice":"x"})"},
      {"web_search_options", "{}"},
      {"store", "true"},
  };
  for (const auto& [name, value] : unsupported) {
    ExpectRefused(ParseWith(fmt::format("\"{}\":{}", name, value)), StatusCode::kUnsupported, name,
                  "not supported yet");
  }
  SACCADE_EXPECT_OK(
      ParseWith(R"("tools":[],"tool_choice":"none","functions":[],"response_format":{"type":"text"},
      "logit_bias":{},"modalities":["text"],"store":false,"metadata":{},"parallel_tool_calls":true)"));
}

TEST(ChatRequest, RefusesBrokenBodies) {
  ExpectRefused(Parse(""), StatusCode::kInvalidArgument, "", "JSON");
  ExpectRefused(Parse("{"), StatusCode::kInvalidArgument, "", "JSON");
  ExpectRefused(Parse("[]"), StatusCode::kInvalidArgument, "");
  ExpectRefused(Parse("{\"messages\": \"\xff\"}"), StatusCode::kInvalidArgument, "");
  ExpectRefused(Parse("{}"), StatusCode::kInvalidArgument, "messages", "missing");
  ExpectRefused(Parse(R"({"messages":[]})"), StatusCode::kInvalidArgument, "messages");
  ExpectRefused(Parse(R"({"messages":{}})"), StatusCode::kInvalidArgument, "messages");
  ExpectRefused(Parse(R"({"messages":[{"role":"robot","content":"x"}]})"), StatusCode::kInvalidArgument,
                "messages[0].role");
}

TEST(ChatRequest, AcceptsEverySpellingOfAPicture) {
  const std::string base64 = "aGVsbG8/Pz8+";  // holds both characters in which the alphabets differ
  const std::string sources[] = {
      "data:image/png;base64," + base64,
      "data:image/jpeg;charset=x;base64," + base64,
      "data:image;base64," + base64,
      "data:;base64," + base64,
      "DATA:image/PNG;BASE64," + base64,
      base64,
      "data:image/png;base64, " + base64,
      "data:image/png;base64,aGVs\\nbG8/\\r\\n Pz8+",
      "  " + base64 + "\\n",
      "aGVsbG8_Pz8-",
      "data:image/png;base64,aGVsbG8_Pz8-",
  };
  for (const std::string& source : sources) {
    SCOPED_TRACE(source);
    const std::string spellings[] = {
        fmt::format(R"({{"type":"image_url","image_url":{{"url":"{}"}}}})", source),
        fmt::format(R"({{"type":"image_url","image_url":"{}"}})", source),
        fmt::format(R"({{"type":"input_image","image_url":"{}"}})", source),
        fmt::format(R"({{"type":"image","image":"{}"}})", source),
    };
    for (const std::string& part : spellings) {
      SACCADE_ASSERT_OK_AND_ASSIGN(const ChatRequest request, ParsePart(part));
      ASSERT_EQ(request.input.pictures.size(), 1u);
      EXPECT_EQ(BytesOf(request.input.pictures[0]),
                "hello??"
                "?>");
      EXPECT_EQ(request.input.conversation.Images().size(), 1u);
      EXPECT_TRUE(request.input.conversation.Images()[0]->source.empty());
    }
  }
}

TEST(ChatRequest, RefusesOtherSourcesAndSaysWhy) {
  const std::pair<const char*, const char*> wrong[] = {
      {"https://example.org/a.png", "switched off"},
      {"HTTP://169.254.169.254/", "switched off"},
      {"file:///etc/passwd", "cannot be read"},
      {"ftp://example.org/a.png", "ftp URLs"},
      {"data:image/png;base64", "no comma"},
      {"data:image/png,abc", ";base64"},
      {"data:image/png;base64,data:image/png;base64,aGVsbG8=", "twice"},
      {"data:image/png;base64,", "empty"},
      {"data:image/png;base64,a*b", "not valid base64"},
      {"", ""},
  };
  for (const auto& [source, message] : wrong) {
    SCOPED_TRACE(source);
    ExpectRefused(ParsePart(fmt::format(R"({{"type":"image_url","image_url":{{"url":"{}"}}}})", source)),
                  StatusCode::kInvalidArgument, "messages[0].content[1].image_url", message);
  }
  ExpectRefused(ParsePart(R"({"type":"video","video":"x"})"), StatusCode::kUnsupported,
                "messages[0].content[1].video");
  ExpectRefused(ParsePart(R"({"type":"input_audio","input_audio":{}})"), StatusCode::kUnsupported,
                "messages[0].content[1].type");
}

TEST(ChatRequest, PixelLimitsComeFromThePartTheRequestOrTheModel) {
  const std::string plain = R"({"type":"image_url","image_url":"aGk="})";
  SACCADE_ASSERT_OK_AND_ASSIGN(ChatRequest request, ParsePart(plain));
  EXPECT_FALSE(request.input.pictures[0].limits.has_value());
  SACCADE_ASSERT_OK_AND_ASSIGN(request, ParsePart(plain, R"(,"max_pixels":50000)"));
  EXPECT_EQ(request.input.pictures[0].limits, (PixelLimits{50000, 50000}));
  SACCADE_ASSERT_OK_AND_ASSIGN(request, ParsePart(plain, R"(,"min_pixels":2000000)"));
  EXPECT_EQ(request.input.pictures[0].limits, (PixelLimits{2000000, 2000000}));
  SACCADE_ASSERT_OK_AND_ASSIGN(
      request, ParsePart(R"({"type":"image_url","image_url":{"url":"aGk=","max_pixels":70000}})",
                         R"(,"min_pixels":100)"));
  EXPECT_EQ(request.input.pictures[0].limits, (PixelLimits{100, 70000}));
  SACCADE_ASSERT_OK_AND_ASSIGN(
      request, ParsePart(R"({"type":"image_url","image_url":{"url":"aGk=","detail":"low"}})"));
  EXPECT_EQ(request.input.pictures[0].limits, (PixelLimits{65536, 262144}));
  SACCADE_ASSERT_OK_AND_ASSIGN(
      request, ParsePart(R"({"type":"image_url","image_url":{"url":"aGk=","detail":"high"}})"));
  EXPECT_FALSE(request.input.pictures[0].limits.has_value());
  ExpectRefused(ParsePart(plain, R"(,"min_pixels":9,"max_pixels":8)"), StatusCode::kInvalidArgument,
                "min_pixels");
  ExpectRefused(ParsePart(R"({"type":"image_url","image_url":{"url":"aGk=","detail":"huge"}})"),
                StatusCode::kInvalidArgument, "messages[0].content[1].image_url.detail");
  ExpectRefused(ParsePart(R"({"type":"image_url","image_url":{"url":"aGk=","max_pixels":-1}})"),
                StatusCode::kInvalidArgument, "messages[0].content[1].image_url.max_pixels");
}

TEST(ChatRequest, PicturesKeepTheirOrderAndAreLimited) {
  const std::string a = R"({"type":"image_url","image_url":"YQ=="})",
                    b = R"({"type":"image_url","image_url":"Yg=="})";
  SACCADE_ASSERT_OK_AND_ASSIGN(const ChatRequest request, ParsePart(a + "," + b + "," + a));
  EXPECT_EQ(BytesOf(request.input.pictures[1]), "b");
  EXPECT_THAT(request.picture_paths,
              ElementsAre("messages[0].content[1].image_url", "messages[0].content[2].image_url",
                          "messages[0].content[3].image_url"));
  const Status late =
      WithRequestPath(InvalidArgument("broken").WithParam("pictures[1]"), request.picture_paths);
  EXPECT_EQ(late.param(), "messages[0].content[2].image_url");
  EXPECT_EQ(WithRequestPath(InvalidArgument("x").WithParam("pictures[9]"), request.picture_paths).param(),
            "pictures[9]");
  ExpectRefused(ParsePart(a + "," + b + "," + a + "," + b), StatusCode::kTooLarge,
                "messages[0].content[4].image_url");
}

TEST(ChatRequest, SchemaDescribesTheFields) {
  const OrderedJson schema = ChatRequestSchema();
  EXPECT_EQ(schema["required"], OrderedJson::array({"messages"}));
  EXPECT_EQ(schema["properties"]["temperature"]["maximum"], 2);
  EXPECT_EQ(schema["properties"]["stop"]["maxItems"], 16);
  EXPECT_THAT(schema["properties"]["tools"]["description"].get<std::string>(),
              HasSubstr("Not supported yet"));
  EXPECT_TRUE(schema["properties"]["stream_options"]["properties"].contains("include_usage"));
}

}  // namespace
}  // namespace saccade
