#include "server/openapi.h"

#include "server/chat_request.h"

namespace saccade {
namespace {

using J = OrderedJson;

J Ref(std::string_view name) { return {{"$ref", "#/components/schemas/" + std::string(name)}}; }
J Integer() { return {{"type", "integer"}}; }
J Number() { return {{"type", "number"}}; }
J Text() { return {{"type", "string"}}; }
J ListOf(J items) { return {{"type", "array"}, {"items", std::move(items)}}; }
J OneOfNull(J schema) { return {{"anyOf", J::array({std::move(schema), {{"type", "null"}}})}}; }

// All properties are required unless named in `optional`.
J Object(const J& properties, const std::vector<std::string>& optional = {}) {
  J required = J::array();
  for (const auto& [name, schema] : properties.items()) {
    if (std::find(optional.begin(), optional.end(), name) == optional.end()) required.push_back(name);
  }
  return {{"type", "object"}, {"properties", properties}, {"required", std::move(required)}};
}

J Content(std::string_view type, J schema) { return {{std::string(type), {{"schema", std::move(schema)}}}}; }

J Answer(std::string_view description, std::string_view type, J schema) {
  return {{"description", description}, {"content", Content(type, std::move(schema))}};
}

J ErrorAnswer(std::string_view description) { return Answer(description, "application/json", Ref("Error")); }

J GetRoute(std::string_view summary, J ok, const J& more = J::object()) {
  J responses = {{"200", std::move(ok)}};
  responses.update(more);
  return {{"get", {{"summary", summary}, {"responses", std::move(responses)}}}};
}

J MessageSchemas() {
  const J image = {{"type", "object"},
                   {"properties",
                    {{"url", {{"type", "string"}, {"description", "data URL of a picture, or bare base64"}}},
                     {"detail", {{"type", "string"}, {"enum", J::array({"low", "high", "auto"})}}},
                     {"min_pixels", Integer()},
                     {"max_pixels", Integer()}}},
                   {"required", J::array({"url"})}};
  const J text_part = Object({{"type", {{"const", "text"}}}, {"text", Text()}});
  const J image_part =
      Object({{"type", {{"const", "image_url"}}}, {"image_url", {{"anyOf", J::array({Text(), image})}}}});
  const J content = {{"anyOf", J::array({Text(), ListOf({{"anyOf", J::array({text_part, image_part})}})})}};
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

J CompletionSchema() {
  const J choice =
      Object({{"index", Integer()},
              {"message", Object({{"role", Text()}, {"content", Text()}, {"refusal", OneOfNull(Text())}})},
              {"logprobs", LogprobsSchema()},
              {"finish_reason", {{"type", "string"}, {"enum", J::array({"stop", "length"})}}}});
  return Object({{"id", Text()},
                 {"object", {{"const", "chat.completion"}}},
                 {"created", Integer()},
                 {"model", Text()},
                 {"choices", ListOf(choice)},
                 {"usage", UsageSchema()},
                 {"timings_ms", TimingsSchema()}});
}

J ChunkSchema() {
  const J choice = Object({{"index", Integer()},
                           {"delta", Object({{"role", Text()}, {"content", Text()}}, {"role", "content"})},
                           {"logprobs", LogprobsSchema()},
                           {"finish_reason", OneOfNull(Text())}});
  return Object({{"id", Text()},
                 {"object", {{"const", "chat.completion.chunk"}}},
                 {"created", Integer()},
                 {"model", Text()},
                 {"choices", ListOf(choice)},
                 {"usage", UsageSchema()},
                 {"timings_ms", TimingsSchema()}},
                {"usage", "timings_ms"});
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

J ChatRoute() {
  J ok = Answer("the answer, whole or as a stream", "application/json", Ref("ChatCompletion"));
  ok["content"]["text/event-stream"] = {{"schema", Ref("ChatCompletionChunk")}};
  return {
      {"post",
       {{"summary", "Answer a conversation with pictures"},
        {"requestBody", {{"required", true}, {"content", Content("application/json", Ref("ChatRequest"))}}},
        {"responses",
         {{"200", std::move(ok)},
          {"400", ErrorAnswer("something in the request is wrong or not supported; param names it")},
          {"403", ErrorAnswer("sent by a page of another site")},
          {"404", ErrorAnswer("no such model")},
          {"408", ErrorAnswer("the request took too long to arrive")},
          {"413", ErrorAnswer("the body or the number of pictures is over the limit")},
          {"429", ErrorAnswer("too many requests are waiting; try again after Retry-After seconds")},
          {"500", ErrorAnswer("a fault of the server")},
          {"503", ErrorAnswer("the model is loading or the server is stopping")}}}}}};
}

J Paths() {
  const J page = Answer("the web page", "text/html", Text());
  const J model_list = Object({{"object", {{"const", "list"}}}, {"data", ListOf(Ref("Model"))}});
  J model = GetRoute("One model", Answer("the model", "application/json", Ref("Model")),
                     {{"404", ErrorAnswer("no such model")}, {"503", ErrorAnswer("the model is loading")}});
  model["parameters"] =
      J::array({{{"name", "model"}, {"in", "path"}, {"required", true}, {"schema", Text()}}});
  J example = GetRoute("A sample picture",
                       Answer("the picture", "image/*", {{"type", "string"}, {"format", "binary"}}),
                       {{"404", ErrorAnswer("no such picture")}});
  example["parameters"] =
      J::array({{{"name", "file"}, {"in", "path"}, {"required", true}, {"schema", Text()}}});
  const J status =
      Object({{"status", Text()}, {"running", Integer()}, {"waiting", Integer()}}, {"running", "waiting"});
  return {
      {"/v1/chat/completions", ChatRoute()},
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
  return {{"openapi", "3.1.0"},
          {"info",
           {{"title", "Saccade"},
            {"version", "1"},
            {"description", "Questions about pictures, answered on CPUs."}}},
          {"paths", Paths()},
          {"components",
           {{"schemas",
             {{"ChatRequest", std::move(chat_request)},
              {"Message", MessageSchemas()},
              {"ChatCompletion", CompletionSchema()},
              {"ChatCompletionChunk", ChunkSchema()},
              {"Model", ModelSchema()},
              {"Error", ErrorSchema()}}}}}};
}

}  // namespace saccade
