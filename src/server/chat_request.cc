#include "server/chat_request.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

namespace saccade {
namespace {

using ChatField = Field<ChatRequest>;

bool IsEmpty(const OrderedJson& value) { return value.empty(); }
bool IsTextFormat(const OrderedJson& value) { return value.is_object() && value.value("type", "") == "text"; }
bool IsNone(const OrderedJson& value) { return value == "none" || value == "auto"; }
bool IsTextOnly(const OrderedJson& value) { return value == OrderedJson::array({"text"}) || IsEmpty(value); }

constexpr ChatField kFields[] = {
    {{.name = "messages",
      .type = FieldType::kArray,
      .help = "the conversation: roles system, user and assistant; content as text or as a list of text and "
              "image_url parts",
      .required = true}},
    {{.name = "logprobs", .type = FieldType::kBool, .help = "log probabilities of the answer's tokens"},
     [](ChatRequest& out, const OrderedJson& value) { out.logprobs = value.get<bool>(); }},
    {{.name = "top_logprobs",
      .type = FieldType::kInt,
      .help = "alternatives per token; needs logprobs",
      .min = 0,
      .max = 20},
     [](ChatRequest& out, const OrderedJson& value) { out.top_logprobs = value.get<int>(); }},
    {{.name = "boxes",
      .type = FieldType::kString,
      .help = "\"pixels\" adds message.boxes: the boxes and points of the answer in pixels of the upright "
              "picture",
      .choices = "model|pixels"},
     [](ChatRequest& out, const OrderedJson& value) { out.pixel_boxes = value == "pixels"; }},
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
    {{.name = "documents",
      .type = FieldType::kObject,
      .help = "how PDF files and multi-page TIFFs are read"}},
    {{.name = "auto_fit",
      .type = FieldType::kBool,
      .help = "shrink the largest pictures until prompt and answer fit the context, instead of refusing"},
     [](ChatRequest& out, const OrderedJson& value) { out.input.auto_fit = value.get<bool>(); }},
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
Status CheckTogether(ChatRequest& request) {
  if (request.top_logprobs > 0 && !request.logprobs) {
    return InvalidArgument("top_logprobs needs \"logprobs\": true").WithParam("top_logprobs");
  }
  if (request.pixel_boxes && request.documents.page_by_page) {
    return InvalidArgument("boxes in pixels are of one prompt; with page_by_page there are many")
        .WithParam("boxes");
  }
  if (request.logprobs) request.generation.top_logprobs = request.top_logprobs;
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
  SACCADE_RETURN_IF_ERROR(ReadAnswerOptions(document, request));
  if (const OrderedJson* documents = FindMember(document, "documents")) {
    SACCADE_ASSIGN_OR_RETURN(request.documents, ReadDocumentRequest(*documents));
    request.input.page_by_page = request.documents.page_by_page;
  }
  SACCADE_RETURN_IF_ERROR(CheckTogether(request));
  request.input.options = std::move(request.generation);
  SACCADE_ASSIGN_OR_RETURN(const std::optional<PixelLimits> limits,
                           RequestedLimits(request.min_pixels, request.max_pixels, options.defaults));
  Conversation& conversation = request.input.conversation;
  SACCADE_ASSIGN_OR_RETURN(conversation.messages,
                           ParseMessages(std::move(*FindMutable(document, "messages"))));
  SACCADE_ASSIGN_OR_RETURN(std::vector<RequestPicture> pictures,
                           TakePictures(conversation, limits, request.documents, options));
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
  schema["properties"]["documents"] = DocumentRequestSchema();
  AddAnswerOptionsSchema(schema);
  return schema;
}

}  // namespace saccade
