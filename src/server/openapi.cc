#include "server/openapi.h"

#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/image_routes.h"
#include "server/openapi_schema.h"
#include "server/task_openapi.h"
#include "server/token_routes.h"

namespace saccade {
namespace {

using namespace openapi;

J MessageSchemas() {
  const J image = {
      {"type", "object"},
      {"properties",
       {{"url",
         {{"type", "string"},
          {"description", "data URL of a picture, bare base64, or saccade-image:ID of an uploaded one"}}},
        {"detail", {{"type", "string"}, {"enum", J::array({"low", "high", "auto"})}}},
        {"min_pixels", Integer()},
        {"max_pixels", Integer()}}},
      {"required", J::array({"url"})}};
  const J text_part = Object({{"type", {{"const", "text"}}}, {"text", Text()}});
  const J image_part =
      Object({{"type", {{"const", "image_url"}}}, {"image_url", {{"anyOf", J::array({Text(), image})}}}});
  const J file =
      Object({{"file_data", {{"type", "string"}, {"description", "data URL of a PDF, TIFF or picture"}}},
              {"file_id", {{"type", "string"}, {"description", "id of an upload"}}},
              {"filename", Text()}},
             {"file_data", "file_id", "filename"});
  const J pages = {{"type", "string"}, {"description", "pages of a document, as in \"1-3,8\""}};
  const J file_part = Object({{"type", {{"const", "file"}}}, {"file", file}, {"pages", pages}}, {"pages"});
  const J part = {{"anyOf", J::array({text_part, image_part, file_part})}};
  const J content = {{"anyOf", J::array({Text(), ListOf(part)})}};
  return Object(
      {{"role", {{"type", "string"}, {"enum", J::array({"system", "developer", "user", "assistant"})}}},
       {"content", content}});
}

J UsageSchema() {
  return Object(
      {{"prompt_tokens", Integer()},
       {"completion_tokens", Integer()},
       {"total_tokens", Integer()},
       {"prompt_tokens_details", Object({{"cached_tokens", Integer()}, {"image_tokens", Integer()}})}});
}

J TimingsSchema() {
  J properties = J::object();
  for (const char* name : {"decode_image", "resize", "queue", "vision", "prefill", "decode", "first_token"}) {
    properties[name] = Number();
  }
  return Object(properties);
}

J LogprobsSchema() {
  const J token = Object({{"token", Text()}, {"logprob", Number()}, {"bytes", ListOf(Integer())}});
  J entry = token;
  entry["properties"]["top_logprobs"] = ListOf(token);
  return OneOfNull(Object({{"content", ListOf(entry)}, {"refusal", OneOfNull(Text())}}));
}

// Of "mode": "page_by_page".
J CitationsSchema() { return ListOf(Object({{"page", Integer()}, {"document", Text()}}, {"document"})); }

J PageAnswersSchema() {
  return ListOf(Object({{"page", Integer()},
                        {"document", Text()},
                        {"text", Text()},
                        {"confidence", Number()},
                        {"counts", {{"type", "boolean"}}}},
                       {"document"}));
}

// Of "boxes": "pixels".
J BoxesSchema() {
  return ListOf(Object({{"box", ListOf(Integer())},
                        {"point", ListOf(Integer())},
                        {"label", Text()},
                        {"picture", Integer()},
                        {"picture_size", ListOf(Integer())}},
                       {"box", "point"}));
}

J ProgressSchema() {
  return Object(
      {{"stage", {{"type", "string"}, {"enum", J::array({"queued", "encoding", "prefill", "pages"})}}},
       {"done", Integer()},
       {"total", Integer()}});
}

// What whole answers and chunks of every kind have.
J ReplyMembers(std::string_view object, const J& choice, bool progress) {
  J members = {{"id", Text()},
               {"object", {{"const", object}}},
               {"created", Integer()},
               {"model", Text()},
               {"choices", ListOf(choice)},
               {"usage", UsageSchema()},
               {"timings_ms", TimingsSchema()}};
  if (progress) members["progress"] = ProgressSchema();
  return members;
}

J CompletionSchema() {
  const J choice = Object({{"index", Integer()},
                           {"message", Object({{"role", Text()},
                                               {"content", Text()},
                                               {"refusal", OneOfNull(Text())},
                                               {"boxes", BoxesSchema()},
                                               {"citations", CitationsSchema()},
                                               {"page_answers", PageAnswersSchema()}},
                                              {"boxes", "citations", "page_answers"})},
                           {"logprobs", LogprobsSchema()},
                           {"finish_reason", {{"type", "string"}, {"enum", J::array({"stop", "length"})}}}});
  return Object(ReplyMembers("chat.completion", choice, false));
}

J ChunkSchema() {
  const J choice = Object({{"index", Integer()},
                           {"delta", Object({{"role", Text()},
                                             {"content", Text()},
                                             {"boxes", BoxesSchema()},
                                             {"citations", CitationsSchema()},
                                             {"page_answers", PageAnswersSchema()}},
                                            {"role", "content", "boxes", "citations", "page_answers"})},
                           {"logprobs", LogprobsSchema()},
                           {"finish_reason", OneOfNull(Text())}});
  return Object(ReplyMembers("chat.completion.chunk", choice, true), {"usage", "timings_ms", "progress"});
}

J TextCompletionSchema(bool chunk) {
  const J logprobs = Object({{"tokens", ListOf(Text())},
                             {"token_logprobs", ListOf(Number())},
                             {"top_logprobs", ListOf({{"type", "object"}})},
                             {"text_offset", ListOf(Integer())}});
  const J reason = {{"type", "string"}, {"enum", J::array({"stop", "length"})}};
  const J choice = Object({{"index", Integer()},
                           {"text", Text()},
                           {"logprobs", OneOfNull(logprobs)},
                           {"finish_reason", chunk ? OneOfNull(reason) : reason}});
  return Object(ReplyMembers("text_completion", choice, true),
                chunk ? std::vector<std::string>{"usage", "timings_ms", "progress"}
                      : std::vector<std::string>{"progress"});
}

J ModelSchema() {
  return Object({{"id", Text()},
                 {"object", {{"const", "model"}}},
                 {"created", Integer()},
                 {"owned_by", Text()},
                 {"context_tokens", Integer()},
                 {"min_pixels", Integer()},
                 {"max_pixels", Integer()}});
}

J ErrorSchema() {
  return Object(
      {{"error",
        Object({{"message", Text()}, {"type", Text()}, {"param", OneOfNull(Text())}, {"code", Text()}})}});
}

J AnswerRoutes(std::string_view summary, std::string_view request, std::string_view whole,
               std::string_view chunk) {
  J ok = Answer("the answer, whole or as a stream", "application/json", Ref(whole));
  ok["content"]["text/event-stream"] = {{"schema", Ref(chunk)}};
  return PostRoute(
      summary, request, std::move(ok),
      {{"429",
        ErrorAnswer("too many requests are waiting, a limit of the API key, or a timeout that cannot be "
                    "met; try again after Retry-After seconds")},
       {"504", ErrorAnswer("the request's timeout passed before the answer was complete")}});
}

J StopRoute() {
  const J deleted = Object({{"id", Text()}, {"object", Text()}, {"deleted", {{"const", true}}}});
  return {{"parameters", J::array({PathParameter("id")})},
          {"delete",
           {{"summary", "Stop a running answer by its id or by the x-request-id of its request"},
            {"responses",
             {{"200", Answer("its end is on the way", "application/json", deleted)},
              {"404", ErrorAnswer("no such answer is running, or it is somebody else's")}}}}}};
}

J EstimateSchema() {
  const J size = Object({{"width", Integer()}, {"height", Integer()}});
  return Object({{"object", {{"const", "estimate"}}},
                 {"model", Text()},
                 {"prompt_tokens", Integer()},
                 {"image_tokens", Integer()},
                 {"max_completion_tokens", Integer()},
                 {"context_tokens", Integer()},
                 {"pictures", ListOf(Object({{"original", size}, {"resized", size}, {"tokens", Integer()}}))},
                 {"predicted_seconds", OneOfNull(Object({{"wait", Number()},
                                                         {"vision", Number()},
                                                         {"prefill", Number()},
                                                         {"decode", Number()},
                                                         {"total", Number()}}))},
                 {"memory_bytes", Object({{"kv_cache", Integer()}, {"pictures", Integer()}})}});
}

J TokenizeReplySchema() {
  return Object({{"count", Integer()},
                 {"max_model_len", Integer()},
                 {"tokens", ListOf(Integer())},
                 {"token_strs", ListOf(Text())}},
                {"token_strs"});
}

J Paths() {
  const J page = Answer("the web page", "text/html", Text());
  const J model_list = Object({{"object", {{"const", "list"}}}, {"data", ListOf(Ref("Model"))}});
  J model = GetRoute("One model", Answer("the model", "application/json", Ref("Model")),
                     {{"404", ErrorAnswer("no such model")}, {"503", ErrorAnswer("the model is loading")}});
  model["parameters"] = J::array({PathParameter("model")});
  J example = GetRoute("A sample picture",
                       Answer("the picture", "image/*", {{"type", "string"}, {"format", "binary"}}),
                       {{"404", ErrorAnswer("no such picture")}});
  example["parameters"] = J::array({PathParameter("file")});
  const J status =
      Object({{"status", Text()}, {"running", Integer()}, {"waiting", Integer()}}, {"running", "waiting"});
  return {
      {"/v1/chat/completions", AnswerRoutes("Answer a conversation with pictures", "ChatRequest",
                                            "ChatCompletion", "ChatCompletionChunk")},
      {"/v1/chat/completions/{id}", StopRoute()},
      {"/v1/completions",
       AnswerRoutes("Go on from a text", "CompletionRequest", "TextCompletion", "TextCompletionChunk")},
      {"/v1/completions/{id}", StopRoute()},
      {"/v1/estimate", PostRoute("What a chat request would take, without running it", "ChatRequest",
                                 Answer("the cost", "application/json", Ref("Estimate")))},
      {"/tokenize", PostRoute("Token ids of a text or a conversation", "TokenizeRequest",
                              Answer("the tokens", "application/json", TokenizeReplySchema()))},
      {"/detokenize", PostRoute("The text of token ids", "DetokenizeRequest",
                                Answer("the text", "application/json", Object({{"prompt", Text()}})))},
      {"/v1/models",
       GetRoute("The models of this server", Answer("the list", "application/json", model_list))},
      {"/v1/models/{model}", std::move(model)},
      {"/healthz", GetRoute("Whether the process is alive", Answer("alive", "application/json", status))},
      {"/readyz", GetRoute("Whether requests are answered", Answer("ready", "application/json", status),
                           {{"503", ErrorAnswer("loading or stopping")}})},
      {"/metrics", GetRoute("Counters for Prometheus", Answer("text format 0.0.4", "text/plain", Text()))},
      {"/openapi.json",
       GetRoute("This document", Answer("OpenAPI 3.1", "application/json", {{"type", "object"}}))},
      {"/examples/", GetRoute("Names of the sample pictures, and questions about them",
                              Answer("the list", "application/json",
                                     Object({{"pictures", ListOf(Text())}, {"questions", J::object()}})))},
      {"/examples/{file}", std::move(example)},
      {"/", GetRoute("The web page", page)}};
}

}  // namespace

OrderedJson OpenApiDocument() {
  J chat_request = ChatRequestSchema();
  chat_request["properties"]["messages"]["items"] = Ref("Message");
  J tokenize_request = TokenizeRequestSchema();
  tokenize_request["properties"]["messages"]["items"] = Ref("Message");
  J paths = Paths(), task_schemas = TaskSchemas(chat_request);
  paths.update(TaskPaths());
  paths.update(ImagePaths());
  J document = {{"openapi", "3.1.0"},
                {"info",
                 {{"title", "Saccade"},
                  {"version", "1"},
                  {"description", "Questions about pictures, answered on CPUs."}}},
                {"paths", std::move(paths)},
                {"security", J::array({J::object(), {{"ApiKey", J::array()}}})},
                {"components",
                 {{"securitySchemes", {{"ApiKey", {{"type", "http"}, {"scheme", "bearer"}}}}},
                  {"schemas",
                   {{"ChatRequest", std::move(chat_request)},
                    {"Message", MessageSchemas()},
                    {"ChatCompletion", CompletionSchema()},
                    {"ChatCompletionChunk", ChunkSchema()},
                    {"CompletionRequest", CompletionRequestSchema()},
                    {"TextCompletion", TextCompletionSchema(false)},
                    {"TextCompletionChunk", TextCompletionSchema(true)},
                    {"TokenizeRequest", std::move(tokenize_request)},
                    {"DetokenizeRequest", DetokenizeRequestSchema()},
                    {"Estimate", EstimateSchema()},
                    {"ImageUpload", ImageUploadSchema()},
                    {"Model", ModelSchema()},
                    {"Error", ErrorSchema()}}}}}};
  document["components"]["schemas"].update(task_schemas);
  return document;
}

}  // namespace saccade
