#include "text/messages.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace saccade {
namespace {

constexpr int64_t kMaxPixelsField = int64_t{1} << 40;
constexpr double kMaxDpi = 1200;
constexpr std::string_view kUploadScheme = "saccade-image:";

// The member, or nullptr when it is absent or null.
OrderedJson* Member(OrderedJson& object, const char* key) {
  const auto member = object.find(key);
  return member == object.end() || member->is_null() ? nullptr : &*member;
}

Result<std::string> TakeString(OrderedJson& value, std::string_view name) {
  if (value.is_string()) return std::move(value.get_ref<std::string&>());
  return InvalidArgument("\"{}\" must be a string, not {}", name, JsonKind(value)).WithParam(name);
}

// The string member `key`, or "" when it is absent.
Result<std::string> TakeStringMember(OrderedJson& object, const char* key) {
  OrderedJson* member = Member(object, key);
  if (member == nullptr) return std::string();
  return TakeString(*member, key);
}

bool IsOneOf(std::string_view value, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

Status ReadPixelLimits(const OrderedJson& object, ContentPart& part) {
  constexpr IntRange kRange = {.min = 1, .max = kMaxPixelsField};
  SACCADE_ASSIGN_OR_RETURN(const auto min_pixels, FindInt(object, "min_pixels", kRange));
  SACCADE_ASSIGN_OR_RETURN(const auto max_pixels, FindInt(object, "max_pixels", kRange));
  SACCADE_ASSIGN_OR_RETURN(const auto detail, FindString(object, "detail"));
  if (min_pixels.has_value()) part.min_pixels = min_pixels;
  if (max_pixels.has_value()) part.max_pixels = max_pixels;
  if (detail.has_value()) part.detail = *detail;
  return OkStatus();
}

// "image_url": "..." or {"url": "...", "detail": "low"}.
Status ReadUrl(OrderedJson& value, const char* key, ContentPart& part) {
  if (value.is_object()) {
    SACCADE_RETURN_IF_ERROR(ReadPixelLimits(value, part).WithParam(key));
    OrderedJson* url = Member(value, "url");
    if (url == nullptr) return InvalidArgument("\"url\" is missing").WithParam("url").WithParam(key);
    auto text = TakeString(*url, "url");
    if (!text.ok()) return std::move(text).status().WithParam(key);
    part.source = *std::move(text);
    return OkStatus();
  }
  SACCADE_ASSIGN_OR_RETURN(part.source, TakeString(value, key));
  return OkStatus();
}

// {"file_data": "data:...", "filename"} or {"file_id": "..."}, the id of an upload.
Status ReadFileMembers(OrderedJson& object, ContentPart& part) {
  SACCADE_ASSIGN_OR_RETURN(part.filename, TakeStringMember(object, "filename"));
  if (OrderedJson* data = Member(object, "file_data"); data != nullptr) {
    part.param = "file_data";
    SACCADE_ASSIGN_OR_RETURN(part.source, TakeString(*data, "file_data"));
  } else if (OrderedJson* id = Member(object, "file_id"); id != nullptr) {
    part.param = "file_id";
    SACCADE_ASSIGN_OR_RETURN(part.source, TakeString(*id, "file_id"));
    if (!part.source.starts_with(kUploadScheme)) part.source.insert(0, kUploadScheme);
  } else {
    return InvalidArgument(
        "a file is given as \"file_data\", a data URL, or as \"file_id\", the id of an upload");
  }
  return OkStatus();
}

// A part of type file or input_file.
Status ReadFilePart(OrderedJson& object, ContentPart& part) {
  OrderedJson* file = Member(object, "file");
  if (file == nullptr) return ReadFileMembers(object, part);
  if (!file->is_object()) {
    return InvalidArgument("\"file\" must be an object, not {}", JsonKind(*file)).WithParam("file");
  }
  Status status = ReadFileMembers(*file, part);
  if (!status.ok()) return std::move(status).WithParam("file");
  part.param.insert(0, "file.");
  return OkStatus();
}

Status ReadPageChoice(const OrderedJson& object, ContentPart& part) {
  SACCADE_ASSIGN_OR_RETURN(part.pages, GetStringOr(object, "pages", ""));
  SACCADE_ASSIGN_OR_RETURN(part.dpi, FindFloat(object, "dpi", {.min = 1, .max = kMaxDpi}));
  return OkStatus();
}

// Where the picture or video comes from. The first member present counts.
Status ReadSource(OrderedJson& object, ContentPart& part) {
  const bool image = part.kind == ContentPart::Kind::kImage;
  const std::array<const char*, 5> keys = {image ? "image_url" : "video_url", image ? "image" : "video",
                                           "url", "path", "base64"};
  for (const char* key : keys) {
    OrderedJson* value = Member(object, key);
    if (value == nullptr) continue;
    part.param = key;
    SACCADE_RETURN_IF_ERROR(ReadUrl(*value, key, part));
    if (std::string_view(key) == "base64") part.source.insert(0, "data:;base64,");
    break;
  }
  return OkStatus();
}

Result<ContentPart> ParsePart(OrderedJson& object, Role role) {
  if (!object.is_object())
    return InvalidArgument("a content part must be an object, not {}", JsonKind(object));
  SACCADE_ASSIGN_OR_RETURN(const std::string type, GetStringOr(object, "type", ""));
  ContentPart part;
  // The order of the tests is the template's: a part with an "image" member is a picture whatever its type
  // says.
  const bool is_file = IsOneOf(type, {"file", "input_file"});
  if (is_file || IsOneOf(type, {"image", "image_url", "input_image"}) || Member(object, "image") != nullptr ||
      Member(object, "image_url") != nullptr) {
    part.kind = ContentPart::Kind::kImage;
  } else if (IsOneOf(type, {"video", "video_url"}) || Member(object, "video") != nullptr) {
    part.kind = ContentPart::Kind::kVideo;
  } else if (IsOneOf(type, {"", "text", "input_text", "output_text"})) {
    OrderedJson* text = Member(object, "text");
    if (text == nullptr) return InvalidArgument("\"text\" is missing").WithParam("text");
    SACCADE_ASSIGN_OR_RETURN(part.text, TakeString(*text, "text"));
    return part;
  } else {
    return Unsupported("content of type \"{}\" is not supported; accepted are text, image_url and file",
                       type.substr(0, 40))
        .WithParam("type");
  }
  if (role != Role::kUser && role != Role::kTool) {
    return InvalidArgument("pictures and videos are possible in user and tool messages only")
        .WithParam("type");
  }
  SACCADE_RETURN_IF_ERROR(ReadPixelLimits(object, part));
  SACCADE_RETURN_IF_ERROR(ReadPageChoice(object, part));
  SACCADE_RETURN_IF_ERROR(is_file ? ReadFilePart(object, part) : ReadSource(object, part));
  return part;
}

Status ParseContent(OrderedJson* content, Message& message) {
  if (content == nullptr) {
    if (message.role != Role::kAssistant)
      return InvalidArgument("\"content\" is missing").WithParam("content");
    message.parts.emplace_back();
    return OkStatus();
  }
  if (content->is_string()) {
    message.parts.emplace_back().text = std::move(content->get_ref<std::string&>());
    return OkStatus();
  }
  if (!content->is_array()) {
    return InvalidArgument("\"content\" must be a string or a list of parts, not {}", JsonKind(*content))
        .WithParam("content");
  }
  message.content_is_string = false;
  for (OrderedJson& object : *content) {
    const std::string place = fmt::format("content[{}]", message.parts.size());
    auto part = ParsePart(object, message.role);
    if (!part.ok()) return std::move(part).status().WithParam(place);
    if (part->kind != ContentPart::Kind::kText)
      part->param = place + (part->param.empty() ? "" : ".") + part->param;
    message.parts.push_back(*std::move(part));
  }
  return OkStatus();
}

Result<ToolCall> ParseToolCall(OrderedJson& object) {
  if (!object.is_object()) return InvalidArgument("a tool call must be an object, not {}", JsonKind(object));
  ToolCall call;
  SACCADE_ASSIGN_OR_RETURN(call.id, TakeStringMember(object, "id"));
  OrderedJson* function = Member(object, "function");
  if (function != nullptr && !function->is_object()) {
    return InvalidArgument("\"function\" must be an object, not {}", JsonKind(*function))
        .WithParam("function");
  }
  const std::string_view where = function != nullptr ? "function" : "";
  OrderedJson& body = function != nullptr ? *function : object;
  auto name = GetString(body, "name");
  if (!name.ok()) return where.empty() ? std::move(name).status() : std::move(name).status().WithParam(where);
  call.name = *std::move(name);
  OrderedJson* arguments = Member(body, "arguments");
  if (arguments == nullptr) {
    call.arguments = OrderedJson::object();
  } else if (arguments->is_string() || arguments->is_object()) {
    call.arguments = std::move(*arguments);
  } else {
    Status status =
        InvalidArgument("\"arguments\" must be an object or a string, not {}", JsonKind(*arguments));
    status.WithParam("arguments");
    return where.empty() ? status : status.WithParam(where);
  }
  return call;
}

Status ParseToolCalls(OrderedJson& object, Message& message) {
  OrderedJson* calls = Member(object, "tool_calls");
  if (calls == nullptr || message.role != Role::kAssistant) return OkStatus();
  if (!calls->is_array()) {
    return InvalidArgument("\"tool_calls\" must be an array, not {}", JsonKind(*calls))
        .WithParam("tool_calls");
  }
  for (OrderedJson& entry : *calls) {
    auto call = ParseToolCall(entry);
    if (!call.ok()) {
      return std::move(call).status().WithParam(fmt::format("tool_calls[{}]", message.tool_calls.size()));
    }
    message.tool_calls.push_back(*std::move(call));
  }
  return OkStatus();
}

Result<Role> ParseRole(const OrderedJson& object) {
  SACCADE_ASSIGN_OR_RETURN(const std::string role, GetString(object, "role"));
  if (role == "system" || role == "developer") return Role::kSystem;
  if (role == "user") return Role::kUser;
  if (role == "assistant") return Role::kAssistant;
  if (role == "tool") return Role::kTool;
  return InvalidArgument("role \"{}\" is unknown; accepted are system, developer, user, assistant and tool",
                         role.substr(0, 40))
      .WithParam("role");
}

Result<Message> ParseMessage(OrderedJson& object, bool first) {
  if (!object.is_object()) return InvalidArgument("a message must be an object, not {}", JsonKind(object));
  Message message;
  SACCADE_ASSIGN_OR_RETURN(message.role, ParseRole(object));
  if (message.role == Role::kSystem && !first) {
    return Unsupported(
               "a system message may only come first: the chat template of this model drops it elsewhere")
        .WithParam("role");
  }
  SACCADE_RETURN_IF_ERROR(ParseContent(Member(object, "content"), message));
  SACCADE_RETURN_IF_ERROR(ParseToolCalls(object, message));
  if (message.role == Role::kTool) {
    SACCADE_ASSIGN_OR_RETURN(message.tool_call_id, TakeStringMember(object, "tool_call_id"));
  }
  return message;
}

}  // namespace

Message Message::Text(Role role, std::string text) {
  Message message;
  message.role = role;
  message.parts.emplace_back().text = std::move(text);
  return message;
}

std::vector<const ContentPart*> Conversation::Images() const {
  std::vector<const ContentPart*> images;
  for (const Message& message : messages) {
    if (message.role != Role::kUser && message.role != Role::kTool) continue;
    for (const ContentPart& part : message.parts) {
      if (part.kind == ContentPart::Kind::kImage) images.push_back(&part);
    }
  }
  return images;
}

Result<std::vector<Message>> ParseMessages(OrderedJson list) {
  if (!list.is_array()) {
    return InvalidArgument("\"messages\" must be an array, not {}", JsonKind(list)).WithParam("messages");
  }
  if (list.empty()) return InvalidArgument("\"messages\" is empty").WithParam("messages");
  std::vector<Message> messages;
  messages.reserve(list.size());
  for (OrderedJson& object : list) {
    const std::string place = fmt::format("messages[{}]", messages.size());
    auto message = ParseMessage(object, messages.empty());
    if (!message.ok()) return std::move(message).status().WithParam(place);
    for (ContentPart& part : message->parts) {
      if (part.kind != ContentPart::Kind::kText) part.param = place + "." + part.param;
    }
    messages.push_back(*std::move(message));
  }
  return messages;
}

Result<OrderedJson> ParseTools(OrderedJson tools) {
  if (tools.is_null()) return tools;
  if (!tools.is_array()) {
    return InvalidArgument("\"tools\" must be an array, not {}", JsonKind(tools)).WithParam("tools");
  }
  for (size_t i = 0; i < tools.size(); ++i) {
    if (!tools[i].is_object()) {
      return InvalidArgument("a tool must be an object, not {}", JsonKind(tools[i]))
          .WithParam(fmt::format("tools[{}]", i));
    }
  }
  return tools;
}

Result<Conversation> ParseConversation(OrderedJson request) {
  if (!request.is_object())
    return InvalidArgument("the request must be a JSON object, not {}", JsonKind(request));
  Conversation conversation;
  OrderedJson* messages = Member(request, "messages");
  if (messages == nullptr) return InvalidArgument("\"messages\" is missing").WithParam("messages");
  SACCADE_ASSIGN_OR_RETURN(conversation.messages, ParseMessages(std::move(*messages)));
  if (OrderedJson* tools = Member(request, "tools"); tools != nullptr) {
    SACCADE_ASSIGN_OR_RETURN(conversation.tools, ParseTools(std::move(*tools)));
  }
  SACCADE_ASSIGN_OR_RETURN(conversation.add_vision_id, GetBoolOr(request, "add_vision_id", false));
  SACCADE_ASSIGN_OR_RETURN(conversation.add_generation_prompt,
                           GetBoolOr(request, "add_generation_prompt", true));
  return conversation;
}

}  // namespace saccade
