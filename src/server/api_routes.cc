#include "server/api_routes.h"

#include <utility>

#include "base/sha256.h"
#include "server/error_reply.h"
#include "server/openapi.h"

namespace saccade {
namespace {

constexpr std::string_view kChatPath = "/v1/chat/completions";

void SendJson(Exchange& exchange, const OrderedJson& body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.headers.emplace_back("cache-control", "no-store");
  response.body = DumpJson(body);
  exchange.Send(std::move(response));
}

OrderedJson ModelJson(const ModelCard& model) {
  return {{"id", model.id},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "saccade"},
          {"context_tokens", model.context_tokens},
          {"min_pixels", model.pixel_limits.min_pixels},
          {"max_pixels", model.pixel_limits.max_pixels}};
}

// Who shares a turn in the queue: the holder of an API key, else everybody at one address. The key itself
// goes no further.
std::string UserOf(const HttpRequest& request) {
  const std::string_view key = request.Header("authorization");
  return key.empty() ? "address " + request.peer : "key " + ToHex(Sha256Of(key));
}

Status CheckModel(const std::string& asked, const ModelCard& model) {
  if (asked == "default" || asked == model.id) return OkStatus();
  return NotFound("there is no model \"{}\" here; this server has \"{}\", also called \"default\"", asked,
                  model.id)
      .WithParam("model");
}

}  // namespace

void ApiRoutes::AddTo(Router& router) {
  router.Add({"POST", std::string(kChatPath), [this](auto exchange) { Chat(std::move(exchange)); }, true,
              options_.max_body_bytes});
  router.Add({"GET", "/v1/models", [this](auto exchange) { ListModels(*exchange); }});
  router.Add({"GET", "/v1/models/{model}", [this](auto exchange) { ShowModel(*exchange); }});
  router.Add({"GET", "/healthz", [](auto exchange) { SendJson(*exchange, {{"status", "alive"}}); }});
  router.Add({"GET", "/readyz", [this](auto exchange) { ReportReady(*exchange); }});
  router.Add({"GET", "/metrics", [this](auto exchange) {
                HttpResponse response;
                response.content_type = "text/plain; version=0.0.4; charset=utf-8";
                response.body = metrics_.Text();
                exchange->Send(std::move(response));
              }});
  router.Add({"GET", "/openapi.json", [](auto exchange) { SendJson(*exchange, OpenApiDocument()); }});
}

void ApiRoutes::SetBackend(std::shared_ptr<ChatBackend> backend) {
  const std::lock_guard lock(mutex_);
  backend_ = std::move(backend);
}

void ApiRoutes::SetNotReady(Status reason) {
  const std::lock_guard lock(mutex_);
  backend_ = nullptr;
  not_ready_ = std::move(reason);
}

std::shared_ptr<ChatBackend> ApiRoutes::backend() const {
  const std::lock_guard lock(mutex_);
  return backend_;
}

EngineStats ApiRoutes::Stats() const {
  const auto current = backend();
  return current ? current->Stats() : EngineStats();
}

Status ApiRoutes::Ready() const {
  if (draining_) return Unavailable("the server is stopping");
  const std::lock_guard lock(mutex_);
  return backend_ ? OkStatus() : not_ready_;
}

std::optional<HttpResponse> ApiRoutes::Gate(const HttpRequest& /*request*/, const Route& route) const {
  if (route.pattern != kChatPath) return std::nullopt;
  const Status ready = Ready();
  if (ready.ok()) return std::nullopt;
  metrics_.CountRefused(StatusCodeName(ready.code()));
  return ErrorReply(ready);
}

void ApiRoutes::Chat(std::shared_ptr<Exchange> exchange) {
  const auto current = backend();
  if (current == nullptr) {
    exchange->Send(ErrorReply(Ready()));
    return;
  }
  const auto refuse = [&](const Status& status) {
    metrics_.CountRefused(StatusCodeName(status.code()));
    exchange->Send(ErrorReply(status));
  };
  PicturePartOptions parts;
  parts.max_pictures = options_.max_pictures;
  parts.defaults = current->model().pixel_limits;
  auto request = ParseChatRequest(exchange->request().body, parts);
  if (request.ok()) request->input.user = UserOf(exchange->request());
  std::string().swap(exchange->request().body);
  if (!request.ok()) return refuse(request.status());
  if (const Status status = CheckModel(request->model, current->model()); !status.ok()) return refuse(status);
  ChatSession::Start(std::move(exchange), std::move(*request), current, metrics_,
                     {.heartbeat = options_.heartbeat});
}

void ApiRoutes::ListModels(Exchange& exchange) const {
  OrderedJson list = OrderedJson::array();
  if (const auto current = backend()) list.push_back(ModelJson(current->model()));
  SendJson(exchange, {{"object", "list"}, {"data", std::move(list)}});
}

void ApiRoutes::ShowModel(Exchange& exchange) const {
  const auto current = backend();
  if (current == nullptr) {
    exchange.Send(ErrorReply(Ready()));
    return;
  }
  const Status status = CheckModel(exchange.request().path_tail, current->model());
  if (!status.ok()) {
    exchange.Send(ErrorReply(status));
    return;
  }
  SendJson(exchange, ModelJson(current->model()));
}

void ApiRoutes::ReportReady(Exchange& exchange) const {
  const Status ready = Ready();
  if (!ready.ok()) {
    exchange.Send(ErrorReply(ready));
    return;
  }
  const EngineStats stats = Stats();
  SendJson(exchange, {{"status", "ready"}, {"running", stats.running}, {"waiting", stats.waiting}});
}

}  // namespace saccade
