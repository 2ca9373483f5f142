#include "server/token_routes.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/error_reply.h"
#include "server/json_reply.h"
#include "server/page_by_page.h"

namespace saccade {
namespace {

struct TokenizeRequest {
  std::string model = "default";
  std::optional<std::string> prompt;
  bool control_tokens = false, with_texts = false;
  bool add_generation_prompt = true;
};

constexpr Field<TokenizeRequest> kTokenizeFields[] = {
    {{.name = "model", .type = FieldType::kString, .help = "the model's name or \"default\""},
     [](TokenizeRequest& out, const OrderedJson& value) { out.model = value.get<std::string>(); }},
    {{.name = "prompt", .type = FieldType::kString, .help = "the text; this or messages"},
     [](TokenizeRequest& out, const OrderedJson& value) { out.prompt = value.get<std::string>(); }},
    {{.name = "messages",
      .type = FieldType::kArray,
      .help = "a conversation, as for chat completions, with each picture as one token"}},
    {{.name = "add_generation_prompt",
      .type = FieldType::kBool,
      .help = "end a conversation with the start of the answer (default)"},
     [](TokenizeRequest& out, const OrderedJson& value) { out.add_generation_prompt = value.get<bool>(); }},
    {{.name = "parse_special",
      .type = FieldType::kBool,
      .help = "read the spellings of control tokens in prompt as these tokens (default: as text)"},
     [](TokenizeRequest& out, const OrderedJson& value) { out.control_tokens = value.get<bool>(); }},
    {{.name = "return_token_strs", .type = FieldType::kBool, .help = "also return the text of each token"},
     [](TokenizeRequest& out, const OrderedJson& value) { out.with_texts = value.get<bool>(); }},
};

struct DetokenizeRequest {
  std::string model = "default";
};

constexpr Field<DetokenizeRequest> kDetokenizeFields[] = {
    {{.name = "model", .type = FieldType::kString, .help = "the model's name or \"default\""},
     [](DetokenizeRequest& out, const OrderedJson& value) { out.model = value.get<std::string>(); }},
    {{.name = "tokens", .type = FieldType::kArray, .help = "token ids", .required = true}},
};

Result<OrderedJson> ParseObject(std::string_view body) {
  auto parsed = ParseOrderedJson(body);
  if (!parsed.ok()) return std::move(parsed).status().WithContext("the request body is not valid JSON");
  if (!parsed->is_object()) return InvalidArgument("the request body must be a JSON object");
  return parsed;
}

Result<OrderedJson> Tokenize(const HttpRequest& http, const ChatBackend& backend) {
  SACCADE_ASSIGN_OR_RETURN(OrderedJson document, ParseObject(http.body));
  TokenizeRequest request;
  SACCADE_RETURN_IF_ERROR(ReadFields<TokenizeRequest>(document, kTokenizeFields, request));
  SACCADE_RETURN_IF_ERROR(CheckModel(request.model, backend.model()));
  const OrderedJson* messages = FindMember(document, "messages");
  if (request.prompt.has_value() == (messages != nullptr)) {
    return InvalidArgument("give either prompt or messages").WithParam("prompt");
  }
  std::vector<int32_t> tokens;
  if (request.prompt) {
    tokens = backend.Tokenize(*request.prompt, request.control_tokens);
  } else {
    Conversation conversation;
    SACCADE_ASSIGN_OR_RETURN(conversation.messages, ParseMessages(*messages));
    conversation.add_generation_prompt = request.add_generation_prompt;
    SACCADE_ASSIGN_OR_RETURN(tokens, backend.TokenizeChat(conversation));
  }
  OrderedJson reply = {{"count", tokens.size()}, {"max_model_len", backend.model().context_tokens}};
  if (request.with_texts) {
    OrderedJson texts = OrderedJson::array();
    for (const int32_t token : tokens) texts.push_back(backend.TokenBytes(token));
    reply["token_strs"] = std::move(texts);
  }
  reply["tokens"] = std::move(tokens);
  return reply;
}

Result<OrderedJson> Detokenize(const HttpRequest& http, const ChatBackend& backend) {
  SACCADE_ASSIGN_OR_RETURN(const OrderedJson document, ParseObject(http.body));
  DetokenizeRequest request;
  SACCADE_RETURN_IF_ERROR(ReadFields<DetokenizeRequest>(document, kDetokenizeFields, request));
  SACCADE_RETURN_IF_ERROR(CheckModel(request.model, backend.model()));
  SACCADE_ASSIGN_OR_RETURN(const std::vector<int32_t> tokens,
                           ReadTokenList(*FindMember(document, "tokens"), "tokens"));
  SACCADE_ASSIGN_OR_RETURN(std::string text, backend.Detokenize(tokens));
  return OrderedJson{{"prompt", std::move(text)}};
}

OrderedJson SizeJson(Size size) { return {{"width", size.width}, {"height", size.height}}; }

// null until a request has finished: there is nothing to predict from.
OrderedJson SecondsJson(const std::optional<CostModel::Seconds>& seconds) {
  if (!seconds) return nullptr;
  return {{"wait", seconds->wait},
          {"vision", seconds->vision},
          {"prefill", seconds->prefill},
          {"decode", seconds->decode},
          {"total", seconds->total()}};
}

Result<OrderedJson> Estimate(const HttpRequest& http, const ChatBackend& backend, const CostModel& costs,
                             const TokenRouteOptions& options) {
  PicturePartOptions parts;
  parts.max_pictures = options.max_pictures;
  parts.stored = options.stored;
  parts.documents = options.documents;
  parts.defaults = backend.model().pixel_limits;
  SACCADE_ASSIGN_OR_RETURN(const ChatRequest request, ParseChatRequest(http.body, parts));
  SACCADE_RETURN_IF_ERROR(CheckModel(request.model, backend.model()));
  auto estimate = EstimateChat(backend, request.input);
  if (!estimate.ok()) return WithRequestPath(std::move(estimate).status(), request.picture_paths);
  OrderedJson pictures = OrderedJson::array();
  for (const RequestEstimate::Picture& picture : estimate->pictures) {
    pictures.push_back({{"original", SizeJson(picture.original)},
                        {"resized", SizeJson(picture.resized)},
                        {"tokens", picture.tokens}});
  }
  return OrderedJson{
      {"object", "estimate"},
      {"model", backend.model().id},
      {"prompt_tokens", estimate->prompt_tokens},
      {"image_tokens", estimate->image_tokens},
      {"max_completion_tokens", estimate->max_tokens},
      {"context_tokens", estimate->context_tokens},
      {"pictures", std::move(pictures)},
      {"predicted_seconds",
       SecondsJson(costs.Predict({estimate->prompt_tokens, estimate->image_tokens, estimate->max_tokens}))},
      {"memory_bytes",
       {{"kv_cache", estimate->kv_bytes * request.choices}, {"pictures", estimate->picture_bytes}}}};
}

using Answer = std::function<Result<OrderedJson>(const HttpRequest&, const ChatBackend&)>;

Route ModelRoute(std::string path, size_t max_body_bytes, BackendSlot& slot, Answer answer) {
  Route route = {"POST", std::move(path), nullptr, true, max_body_bytes};
  route.needs_model = true;
  route.handler = [&slot, answer = std::move(answer)](const std::shared_ptr<Exchange>& exchange) {
    const auto backend = slot.Get();
    if (backend == nullptr) return exchange->Send(ErrorReply(slot.Ready()));
    const Result<OrderedJson> reply = answer(exchange->request(), *backend);
    exchange->Send(reply.ok() ? JsonReply(*reply) : ErrorReply(reply.status()));
  };
  return route;
}

}  // namespace

void AddTokenRoutes(Router& router, BackendSlot& slot, const CostModel& costs,
                    const TokenRouteOptions& options) {
  router.Add(ModelRoute("/tokenize", options.max_body_bytes, slot, Tokenize));
  router.Add(ModelRoute("/detokenize", options.max_body_bytes, slot, Detokenize));
  router.Add(ModelRoute("/v1/estimate", options.max_body_bytes, slot,
                        [options, &costs](const HttpRequest& http, const ChatBackend& backend) {
                          return Estimate(http, backend, costs, options);
                        }));
}

OrderedJson TokenizeRequestSchema() { return ObjectSchema<TokenizeRequest>(kTokenizeFields); }

OrderedJson DetokenizeRequestSchema() {
  OrderedJson schema = ObjectSchema<DetokenizeRequest>(kDetokenizeFields);
  schema["properties"]["tokens"]["items"] = {{"type", "integer"}, {"minimum", 0}};
  return schema;
}

}  // namespace saccade
