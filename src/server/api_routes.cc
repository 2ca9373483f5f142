#include "server/api_routes.h"

#include <utility>

#include "server/chat_request.h"
#include "server/completion_request.h"
#include "server/error_reply.h"
#include "server/json_reply.h"
#include "server/openapi.h"

namespace saccade {
namespace {

OrderedJson ModelJson(const ModelCard& model) {
  return {{"id", model.id},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "saccade"},
          {"context_tokens", model.context_tokens},
          {"min_pixels", model.pixel_limits.min_pixels},
          {"max_pixels", model.pixel_limits.max_pixels}};
}

AnswerRequest MakeAnswerRequest(const AnswerFormat& format, const AnswerOptions& options) {
  AnswerRequest request;
  request.format = &format;
  request.stream = options.stream;
  request.include_usage = options.include_usage;
  request.include_progress = options.include_progress;
  request.choices = options.choices;
  request.batch = options.batch;
  request.timeout_seconds = options.timeout_seconds;
  return request;
}

}  // namespace

void ApiRoutes::AddTo(Router& router) {
  const auto add_answers = [&](std::string path, std::string_view object, Parse parse) {
    Route answer = {"POST", path, [this, parse](auto exchange) { Answer(std::move(exchange), parse); }, true,
                    options_.max_body_bytes};
    answer.needs_model = answer.queues = true;
    router.Add(std::move(answer));
    router.Add({"DELETE", path + "/{id}", [this, object](auto exchange) { StopAnswer(*exchange, object); }});
  };
  add_answers("/v1/chat/completions", "chat.completion.deleted", &ApiRoutes::ParseChat);
  add_answers("/v1/completions", "text_completion.deleted", &ApiRoutes::ParseCompletion);
  router.Add({"GET", "/v1/models", [this](auto exchange) { ListModels(*exchange); }});
  router.Add({"GET", "/v1/models/{model}", [this](auto exchange) { ShowModel(*exchange); }});
  router.AddOpen({"GET", "/healthz", [](auto exchange) {
                    exchange->Send(JsonReply({{"status", "alive"}}));
                  }});
  router.AddOpen({"GET", "/readyz", [this](auto exchange) { ReportReady(*exchange); }});
  router.Add({"GET", "/metrics", [this](auto exchange) {
                HttpResponse response;
                response.content_type = "text/plain; version=0.0.4; charset=utf-8";
                response.body = metrics_.Text();
                exchange->Send(std::move(response));
              }});
  router.AddOpen(
      {"GET", "/openapi.json", [](auto exchange) { exchange->Send(JsonReply(OpenApiDocument())); }});
}

std::optional<HttpResponse> ApiRoutes::Gate(HttpRequest& request, const Route& route) {
  if (!route.needs_model) return std::nullopt;
  const Status ready = slot_.Ready();
  if (!ready.ok()) {
    metrics_.CountRefused(StatusCodeName(ready.code()));
    return ErrorReply(ready);
  }
  if (!route.queues) return std::nullopt;
  const EngineStats stats = slot_.Stats();
  request.queue_place = queue_.Enter(stats);
  if (request.queue_place != nullptr) return std::nullopt;
  metrics_.CountRefused("queue_full");
  return ErrorReply(ResourceExhausted("{} requests are waiting already; try again later", stats.waiting),
                    costs_->RetryAfterSeconds());
}

void ApiRoutes::Answer(std::shared_ptr<Exchange> exchange, Parse parse) {
  const auto backend = slot_.Get();
  if (backend == nullptr) {
    exchange->Send(ErrorReply(slot_.Ready()));
    return;
  }
  auto request = (this->*parse)(exchange->request(), *backend);
  std::string().swap(exchange->request().body);
  if (!request.ok()) {
    metrics_.CountRefused(StatusCodeName(request.status().code()));
    exchange->Send(ErrorReply(request.status()));
    return;
  }
  const Caller& caller = exchange->request().caller;
  const auto timeout =
      RequestTimeout(request->timeout_seconds, exchange->request().Header("x-request-timeout"));
  if (!timeout.ok()) {
    exchange->Send(ErrorReply(timeout.status()));
    return;
  }
  request->timeout_seconds = *timeout;
  request->user = caller.user;
  for (ChatInput& prompt : request->prompts) {
    prompt.user = caller.user;
    prompt.cache_scope = caller.cache_scope;
    if (caller.batch || request->batch) prompt.priority = Priority::kBatch;
  }
  AnswerSession::Start(std::move(exchange), std::move(*request), {backend, running_, costs_, metrics_},
                       {.heartbeat = options_.heartbeat});
}

Result<AnswerRequest> ApiRoutes::ParseChat(const HttpRequest& http, ChatBackend& backend) const {
  PicturePartOptions parts;
  parts.max_pictures = options_.max_pictures;
  parts.defaults = backend.model().pixel_limits;
  parts.stored = options_.stored;
  parts.documents = options_.documents;
  SACCADE_ASSIGN_OR_RETURN(ChatRequest chat, ParseChatRequest(http.body, parts));
  SACCADE_RETURN_IF_ERROR(CheckModel(chat.model, backend.model()));
  AnswerRequest request = MakeAnswerRequest(ChatFormat(), chat);
  request.logprobs = chat.logprobs;
  request.pixel_boxes = chat.pixel_boxes;
  request.picture_paths = std::move(chat.picture_paths);
  request.prompts.push_back(std::move(chat.input));
  return request;
}

Result<AnswerRequest> ApiRoutes::ParseCompletion(const HttpRequest& http, ChatBackend& backend) const {
  SACCADE_ASSIGN_OR_RETURN(CompletionRequest completion, ParseCompletionRequest(http.body));
  SACCADE_RETURN_IF_ERROR(CheckModel(completion.model, backend.model()));
  AnswerRequest request = MakeAnswerRequest(TextFormat(), completion);
  request.logprobs = completion.logprobs >= 0;
  for (auto& prompt : completion.prompts) {
    ChatInput input;
    input.options = completion.generation;
    const auto* text = std::get_if<std::string>(&prompt);
    input.prompt_tokens =
        text != nullptr ? backend.Tokenize(*text, false) : std::move(std::get<std::vector<int32_t>>(prompt));
    request.prompts.push_back(std::move(input));
  }
  return request;
}

void ApiRoutes::StopAnswer(Exchange& exchange, std::string_view object) const {
  const std::string& id = exchange.request().path_tail;
  if (running_->Stop(id, exchange.request().caller.user) == 0) {
    exchange.Send(ErrorReply(NotFound("no answer of yours with the id \"{}\" is running", id)));
    return;
  }
  exchange.Send(JsonReply({{"id", id}, {"object", object}, {"deleted", true}}));
}

void ApiRoutes::ListModels(Exchange& exchange) const {
  OrderedJson list = OrderedJson::array();
  if (const auto current = slot_.Get()) list.push_back(ModelJson(current->model()));
  exchange.Send(JsonReply({{"object", "list"}, {"data", std::move(list)}}));
}

void ApiRoutes::ShowModel(Exchange& exchange) const {
  const auto current = slot_.Get();
  if (current == nullptr) {
    exchange.Send(ErrorReply(slot_.Ready()));
    return;
  }
  const Status status = CheckModel(exchange.request().path_tail, current->model());
  if (!status.ok()) {
    exchange.Send(ErrorReply(status));
    return;
  }
  exchange.Send(JsonReply(ModelJson(current->model())));
}

void ApiRoutes::ReportReady(Exchange& exchange) const {
  const Status ready = slot_.Ready();
  if (!ready.ok()) {
    exchange.Send(ErrorReply(ready));
    return;
  }
  const EngineStats stats = slot_.Stats();
  exchange.Send(JsonReply({{"status", "ready"}, {"running", stats.running}, {"waiting", stats.waiting}}));
}

}  // namespace saccade
