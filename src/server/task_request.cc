#include "server/task_request.h"

#include <cmath>

#include "base/base64.h"
#include "server/backend_slot.h"
#include "server/chat_request.h"
#include "server/multipart.h"
#include "server/page_by_page.h"

namespace saccade {
namespace {

// Multipart fields beside the pictures.
constexpr size_t kMaxFields = 64;
// From here on a deadline is a time since 1970, before it is a number of seconds from now.
constexpr double kFirstAbsoluteSecond = 1e9;
constexpr double kMaxSeconds = 1e11;
constexpr double kMaxTtlSeconds = 366.0 * 24 * 3600;
constexpr size_t kMaxKeyBytes = 256;

// As they came.
struct TaskFields {
  std::string idempotency_key;
  int64_t priority = 0;
  double deadline = 0, ttl = 0;
};

constexpr Field<TaskFields> kFields[] = {
    {{.name = "idempotency_key",
      .type = FieldType::kString,
      .help = "a second task with the same key is the first one"},
     [](TaskFields& out, const OrderedJson& value) { out.idempotency_key = value.get<std::string>(); }},
    {{.name = "priority",
      .type = FieldType::kInt,
      .help = "larger first; tasks of the same priority run in the order of their arrival",
      .min = -1000,
      .max = 1000},
     [](TaskFields& out, const OrderedJson& value) { out.priority = value.get<int64_t>(); }},
    {{.name = "deadline",
      .type = FieldType::kNumber,
      .help = "seconds from now, or since 1970, by which the task must have begun; later it is expired",
      .min = 0.001,
      .max = kMaxSeconds},
     [](TaskFields& out, const OrderedJson& value) { out.deadline = value.get<double>(); }},
    {{.name = "ttl",
      .type = FieldType::kNumber,
      .help = "seconds for which the result is kept; a day unless given",
      .min = 1,
      .max = kMaxTtlSeconds},
     [](TaskFields& out, const OrderedJson& value) { out.ttl = value.get<double>(); }},
};

Status TakeTaskFields(const OrderedJson& document, const TaskRequestOptions& options, NewTask& task) {
  TaskFields fields;
  SACCADE_RETURN_IF_ERROR(ReadFields<TaskFields>(document, kFields, fields));
  if (fields.idempotency_key.size() > kMaxKeyBytes) {
    return InvalidArgument("idempotency_key has more than {} bytes", kMaxKeyBytes)
        .WithParam("idempotency_key");
  }
  task.idempotency_key = std::move(fields.idempotency_key);
  // Keys of different users are different keys.
  if (!task.idempotency_key.empty()) task.idempotency_key = options.caller.user + "\n" + task.idempotency_key;
  task.priority = fields.priority;
  task.ttl_ms = std::llround(fields.ttl * 1000);
  if (fields.deadline > 0) {
    const int64_t deadline_ms = std::llround(fields.deadline * 1000);
    task.deadline_ms = fields.deadline < kFirstAbsoluteSecond ? options.now_ms + deadline_ms : deadline_ms;
  }
  return OkStatus();
}

OrderedJson PicturePart(std::string url) {
  return {{"type", "image_url"}, {"image_url", {{"url", std::move(url)}}}};
}

// "question" with "image" or "images" instead of "messages". True when something was rewritten.
Result<bool> RewriteQuestion(OrderedJson& document) {
  if (FindMember(document, "messages") != nullptr) return false;
  SACCADE_ASSIGN_OR_RETURN(std::optional<std::string> question, FindString(document, "question"));
  if (!question) {
    return InvalidArgument("a task has messages, or a question with image or images").WithParam("messages");
  }
  OrderedJson content = OrderedJson::array();
  for (const char* name : {"image", "images"}) {
    const OrderedJson* images = FindMember(document, name);
    if (images == nullptr) continue;
    const OrderedJson list = images->is_array() ? *images : OrderedJson::array({*images});
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_string()) {
        return InvalidArgument("a picture is given as a base64 data URL").WithParam(name);
      }
      content.push_back(PicturePart(list[i].get<std::string>()));
    }
    document.erase(name);
  }
  content.push_back({{"type", "text"}, {"text", std::move(*question)}});
  document.erase("question");
  document["messages"] = OrderedJson::array({{{"role", "user"}, {"content", std::move(content)}}});
  return true;
}

Status CheckChat(std::string_view body, ChatBackend* backend, size_t max_pictures) {
  PicturePartOptions parts;
  parts.max_pictures = max_pictures;
  if (backend != nullptr) parts.defaults = backend->model().pixel_limits;
  SACCADE_ASSIGN_OR_RETURN(const ChatRequest chat, ParseChatRequest(body, parts));
  if (backend == nullptr) return OkStatus();
  SACCADE_RETURN_IF_ERROR(CheckModel(chat.model, backend->model()));
  return WithRequestPath(EstimateChat(*backend, chat.input).status(), chat.picture_paths);
}

Result<TaskSubmission> FromDocument(OrderedJson document, std::string_view body, ChatBackend* backend,
                                    const TaskRequestOptions& options) {
  if (!document.is_object()) return InvalidArgument("the request body must be a JSON object");
  TaskSubmission submission;
  SACCADE_RETURN_IF_ERROR(TakeTaskFields(document, options, submission.task));
  SACCADE_ASSIGN_OR_RETURN(const bool rewritten, RewriteQuestion(document));
  submission.body = rewritten || body.empty()
                        ? document.dump(-1, ' ', false, OrderedJson::error_handler_t::replace)
                        : std::string(body);
  SACCADE_RETURN_IF_ERROR(CheckChat(submission.body, backend, options.max_pictures));
  submission.task.id = MakeTaskId();
  submission.task.owner = TaskOwner(options.caller);
  submission.about = {{"user", options.caller.user}, {"cache_scope", options.caller.cache_scope}};
  return submission;
}

// A field of a form is text; numbers, lists and the like are read as the JSON that they look like.
OrderedJson FieldValue(std::string_view name, std::string_view text) {
  const bool is_text = name == "question" || name == "idempotency_key" || name == "model" || name == "stop";
  if (!is_text) {
    if (auto parsed = ParseOrderedJson(text); parsed.ok()) return std::move(*parsed);
  }
  return text;
}

Result<OrderedJson> FormDocument(std::string_view content_type, std::string_view body, size_t max_pictures) {
  SACCADE_ASSIGN_OR_RETURN(const auto parts, ParseMultipart(content_type, body, max_pictures + kMaxFields));
  OrderedJson document = OrderedJson::object(), pictures = OrderedJson::array();
  for (const FormPart& part : parts) {
    if (part.name == "image" || part.name == "images" || part.name == "file" || part.name == "image[]") {
      if (part.bytes.empty()) return InvalidArgument("the picture is empty").WithParam(part.name);
      pictures.push_back("data:image/*;base64," +
                         EncodeBase64(std::as_bytes(std::span(part.bytes.data(), part.bytes.size()))));
    } else {
      document[part.name] = FieldValue(part.name, part.bytes);
    }
  }
  if (pictures.empty()) return document;
  if (document.contains("messages")) {
    return InvalidArgument("pictures as files go with a question; in messages they are data URLs")
        .WithParam("messages");
  }
  document["images"] = std::move(pictures);
  return document;
}

}  // namespace

Result<TaskSubmission> ParseTaskRequest(std::string_view content_type, std::string_view body,
                                        ChatBackend* backend, const TaskRequestOptions& options) {
  if (IsMultipart(content_type)) {
    SACCADE_ASSIGN_OR_RETURN(OrderedJson document, FormDocument(content_type, body, options.max_pictures));
    return FromDocument(std::move(document), "", backend, options);
  }
  auto parsed = ParseOrderedJson(body);
  if (!parsed.ok()) return std::move(parsed).status().WithContext("the request body is not valid JSON");
  return FromDocument(std::move(*parsed), body, backend, options);
}

Result<TaskSubmission> ParseBatchLine(std::string_view line, ChatBackend* backend,
                                      const TaskRequestOptions& options) {
  auto parsed = ParseOrderedJson(line);
  if (!parsed.ok()) return std::move(parsed).status().WithContext("not valid JSON");
  if (!parsed->is_object()) return InvalidArgument("not a JSON object");
  SACCADE_ASSIGN_OR_RETURN(std::string custom_id, GetString(*parsed, "custom_id"));
  SACCADE_ASSIGN_OR_RETURN(const std::string method, GetStringOr(*parsed, "method", "POST"));
  SACCADE_ASSIGN_OR_RETURN(const std::string url, GetStringOr(*parsed, "url", "/v1/chat/completions"));
  if (method != "POST" || url != "/v1/chat/completions") {
    return Unsupported("a line is a POST of /v1/chat/completions").WithParam("url");
  }
  SACCADE_ASSIGN_OR_RETURN(const OrderedJson* body, GetObject(*parsed, "body"));
  auto submission = FromDocument(*body, "", backend, options);
  if (!submission.ok()) return std::move(submission).status().WithParam("body");
  submission->about["custom_id"] = std::move(custom_id);
  return submission;
}

std::string TaskOwner(const Caller& caller) { return caller.key_name.empty() ? "" : caller.user; }

OrderedJson TaskFieldsSchema() {
  OrderedJson schema = ObjectSchema<TaskFields>(kFields);
  schema["properties"]["question"] = {{"type", "string"},
                                      {"description", "what to ask; instead of messages"}};
  schema["properties"]["image"] = {{"type", "string"}, {"description", "base64 data URL of a picture"}};
  schema["properties"]["images"] = {{"type", "array"}, {"items", {{"type", "string"}}}};
  return schema;
}

}  // namespace saccade
