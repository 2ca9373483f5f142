#include "server/chat_request.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

namespace saccade {
namespace {

using ChatField = Field<ChatRequest>;

bool IsEmpty(const OrderedJson& value) { return value.empty(); }
bool IsFalse(const OrderedJson& value) { return value.is_boolean() && !value.get<bool>(); }
bool IsTextFormat(const OrderedJson& value) { return value.is_object() && value.value("type", "") == "text"; }
bool IsNone(const OrderedJson& value) { return value == "none" || value == "auto"; }
bool IsTextOnly(const OrderedJson& value) { return value == OrderedJson::array({"text"}) || IsEmpty(value); }

void StoreStop(ChatRequest& out, const OrderedJson& value) {
  out.input.options.stop.clear();
  if (value.is_string()) {
    out.input.options.stop.push_back(value.get<std::string>());
  } else {
    for (const OrderedJson& text : value) out.input.options.stop.push_back(text.get<std::string>());
  }
  std::erase(out.input.options.stop, "");
}

// Negative seeds are as good as others.
void StoreSeed(ChatRequest& out, const OrderedJson& value) {
  out.input.options.seed = static_cast<uint64_t>(value.get<int64_t>());
}

struct StreamOptions {
  bool include_usage = false;
};
constexpr std::array<Field<StreamOptions>, 1> kStreamOptionFields = {{
    {{.name = "include_usage", .type = FieldType::kBool, .help = "send token counts in a last chunk"},
     [](StreamOptions& out, const OrderedJson& value) { out.include_usage = value.get<bool>(); }},
}};

constexpr double kMaxPenalty = 2, kMaxSeed = 9.2e18;
constexpr double kMaxTokens = 1 << 24;
constexpr size_t kMaxStopTexts = 16;

#define SACCADE_STORE_FLOAT(member) \
  [](ChatRequest& out, const OrderedJson& value) { out.input.options.member = value.get<float>(); }
#define SACCADE_STORE_INT(member) \
  [](ChatRequest& out, const OrderedJson& value) { out.input.options.member = value.get<int>(); }

constexpr ChatField kFields[] = {
    {{.name = "messages",
      .type = FieldType::kArray,
      .help = "the conversation: roles system, user and assistant; content as text or as a list of text and "
              "image_url parts",
      .required = true}},
    {{.name = "model", .type = FieldType::kString, .help = "the model's name or \"default\""},
     [](ChatRequest& out, const OrderedJson& value) { out.model = value.get<std::string>(); }},
    {{.name = "stream",
      .type = FieldType::kBool,
      .help = "answer as server-sent events while tokens are made"},
     [](ChatRequest& out, const OrderedJson& value) { out.stream = value.get<bool>(); }},
    {{.name = "stream_options",
      .type = FieldType::kObject,
      .help = "include_usage: token counts in a last chunk"}},
    {{.name = "max_tokens",
      .type = FieldType::kInt,
      .help = "most tokens of the answer",
      .min = 1,
      .max = kMaxTokens},
     SACCADE_STORE_INT(max_tokens)},
    {{.name = "max_completion_tokens",
      .type = FieldType::kInt,
      .help = "newer name of max_tokens; wins over it",
      .min = 1,
      .max = kMaxTokens},
     SACCADE_STORE_INT(max_tokens)},
    {{.name = "temperature",
      .type = FieldType::kNumber,
      .help = "0 is greedy; higher is more varied",
      .min = 0,
      .max = 2},
     SACCADE_STORE_FLOAT(temperature)},
    {{.name = "top_p",
      .type = FieldType::kNumber,
      .help = "sample from the tokens that make up this share",
      .min = 0,
      .max = 1},
     SACCADE_STORE_FLOAT(top_p)},
    {{.name = "top_k",
      .type = FieldType::kInt,
      .help = "sample from this many tokens; -1 and 0: all",
      .min = -1,
      .max = 1 << 20},
     [](ChatRequest& out, const OrderedJson& value) {
       out.input.options.top_k = std::max(0, value.get<int>());
     }},
    {{.name = "min_p",
      .type = FieldType::kNumber,
      .help = "leave out tokens below this share of the best one's",
      .min = 0,
      .max = 1},
     SACCADE_STORE_FLOAT(min_p)},
    {{.name = "presence_penalty",
      .type = FieldType::kNumber,
      .help = "against tokens that were used",
      .min = -kMaxPenalty,
      .max = kMaxPenalty},
     SACCADE_STORE_FLOAT(presence_penalty)},
    {{.name = "frequency_penalty",
      .type = FieldType::kNumber,
      .help = "against tokens by how often they were used",
      .min = -kMaxPenalty,
      .max = kMaxPenalty},
     SACCADE_STORE_FLOAT(frequency_penalty)},
    {{.name = "repetition_penalty",
      .type = FieldType::kNumber,
      .help = "divides the scores of used tokens; 1: off",
      .min = 0.01,
      .max = 10},
     SACCADE_STORE_FLOAT(repetition_penalty)},
    {{.name = "seed",
      .type = FieldType::kInt,
      .help = "same seed, same answer",
      .min = -kMaxSeed,
      .max = kMaxSeed},
     StoreSeed},
    {{.name = "stop",
      .type = FieldType::kStringOrList,
      .help = "texts that end the answer; not part of it",
      .max_items = kMaxStopTexts},
     StoreStop},
    {{.name = "n",
      .type = FieldType::kInt,
      .help = "answers per request; only 1 is possible so far",
      .min = 1,
      .max = 1}},
    {{.name = "logprobs", .type = FieldType::kBool, .help = "log probabilities of the answer's tokens"},
     [](ChatRequest& out, const OrderedJson& value) { out.logprobs = value.get<bool>(); }},
    {{.name = "top_logprobs",
      .type = FieldType::kInt,
      .help = "alternatives per token; needs logprobs",
      .min = 0,
      .max = 20},
     [](ChatRequest& out, const OrderedJson& value) { out.top_logprobs = value.get<int>(); }},
    {{.name = "ignore_eos", .type = FieldType::kBool, .help = "go on past the end token, for load tests"},
     [](ChatRequest& out, const OrderedJson& value) { out.input.options.ignore_eos = value.get<bool>(); }},
    {{.name = "min_pixels",
      .type = FieldType::kInt,
      .help = "enlarge smaller pictures to this area; also per picture",
      .min = 1,
      .max = static_cast<double>(kMaxResizedPixels)},
     [](ChatRequest& out, const OrderedJson& value) { out.min_pixels = value.get<int64_t>(); }},
    {{.name = "max_pixels",
      .type = FieldType::kInt,
      .help = "shrink larger pictures to this area; also per picture",
      .min = 1,
      .max = static_cast<double>(kMaxResizedPixels)},
     [](ChatRequest& out, const OrderedJson& value) { out.max_pixels = value.get<int64_t>(); }},
    {{.name = "tools", .type = FieldType::kArray, .help = "functions the model may call", .supported = false},
     nullptr,
     IsEmpty},
    {{.name = "tool_choice", .help = "which function to call", .supported = false}, nullptr, IsNone},
    {{.name = "functions", .type = FieldType::kArray, .help = "older form of tools", .supported = false},
     nullptr,
     IsEmpty},
    {{.name = "function_call", .help = "older form of tool_choice", .supported = false}, nullptr, IsNone},
    {{.name = "response_format",
      .type = FieldType::kObject,
      .help = "formats other than {\"type\": \"text\"}",
      .supported = false},
     nullptr,
     IsTextFormat},
    {{.name = "logit_bias",
      .type = FieldType::kObject,
      .help = "changes to the scores of single tokens",
      .supported = false},
     nullptr,
     IsEmpty},
    {{.name = "modalities", .type = FieldType::kArray, .help = "answers other than text", .supported = false},
     nullptr,
     IsTextOnly},
    {{.name = "audio", .type = FieldType::kObject, .help = "spoken answers", .supported = false},
     nullptr,
     IsEmpty},
    {{.name = "prediction", .type = FieldType::kObject, .help = "predicted output", .supported = false},
     nullptr,
     IsEmpty},
    {{.name = "web_search_options",
      .type = FieldType::kObject,
      .help = "searching the web",
      .supported = false}},
    {{.name = "store",
      .type = FieldType::kBool,
      .help = "keeping the answer on the server",
      .supported = false},
     nullptr,
     IsFalse},
};

// Options that depend on each other.
Status CheckTogether(const OrderedJson& document, ChatRequest& request) {
  if (const OrderedJson* options = FindMember(document, "stream_options")) {
    StreamOptions read;
    if (Status status = ReadFields<StreamOptions>(*options, kStreamOptionFields, read); !status.ok()) {
      return std::move(status).WithParam("stream_options");
    }
    request.include_usage = read.include_usage;
  }
  if (request.top_logprobs > 0 && !request.logprobs) {
    return InvalidArgument("top_logprobs needs \"logprobs\": true").WithParam("top_logprobs");
  }
  if (request.logprobs) request.input.options.top_logprobs = request.top_logprobs;
  return OkStatus();
}

OrderedJson* FindMutable(OrderedJson& object, std::string_view name) {
  const auto found = object.find(std::string(name));
  return found == object.end() ? nullptr : &*found;
}

}  // namespace

Result<ChatRequest> ParseChatRequest(std::string_view body, const PicturePartOptions& options) {
  auto parsed = ParseOrderedJson(body);
  if (!parsed.ok()) return std::move(parsed).status().WithContext("the request body is not valid JSON");
  OrderedJson document = std::move(*parsed);
  if (!document.is_object()) return InvalidArgument("the request body must be a JSON object");
  ChatRequest request;
  SACCADE_RETURN_IF_ERROR(ReadFields<ChatRequest>(document, kFields, request));
  SACCADE_RETURN_IF_ERROR(CheckTogether(document, request));
  SACCADE_ASSIGN_OR_RETURN(const std::optional<PixelLimits> limits,
                           RequestedLimits(request.min_pixels, request.max_pixels, options.defaults));
  Conversation& conversation = request.input.conversation;
  SACCADE_ASSIGN_OR_RETURN(conversation.messages,
                           ParseMessages(std::move(*FindMutable(document, "messages"))));
  SACCADE_ASSIGN_OR_RETURN(std::vector<RequestPicture> pictures, TakePictures(conversation, limits, options));
  for (RequestPicture& picture : pictures) {
    request.input.pictures.push_back(std::move(picture.input));
    request.picture_paths.push_back(std::move(picture.path));
  }
  return request;
}

Status WithRequestPath(Status status, std::span<const std::string> picture_paths) {
  constexpr std::string_view kPrefix = "pictures[";
  const std::string& param = status.param();
  if (param.substr(0, kPrefix.size()) != kPrefix) return status;
  size_t index = 0;
  std::from_chars(param.data() + kPrefix.size(), param.data() + param.size(), index);
  if (index >= picture_paths.size()) return status;
  return Status(status.code(), status.message()).WithParam(picture_paths[index]);
}

OrderedJson ChatRequestSchema() {
  OrderedJson schema = ObjectSchema<ChatRequest>(kFields);
  schema["properties"]["stream_options"]["properties"] =
      ObjectSchema<StreamOptions>(kStreamOptionFields)["properties"];
  return schema;
}

}  // namespace saccade
