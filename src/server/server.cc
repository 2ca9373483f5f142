#include "server/server.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "server/access.h"
#include "server/api_routes.h"
#include "server/assets.h"
#include "server/image_routes.h"
#include "server/task_routes.h"
#include "server/token_routes.h"

namespace saccade {
namespace {

// Longer paths are cut in the log; nothing that is served has one.
constexpr size_t kMaxLoggedPath = 200;

bool IsProbe(const RequestRecord& record) {
  return record.pattern == "/healthz" || record.pattern == "/readyz" || record.pattern == "/metrics";
}

void LogRequest(const RequestRecord& record) {
  std::vector<LogField> fields = {{"id", record.id},
                                  {"peer", record.peer},
                                  {"method", record.method.empty() ? std::string_view("-") : record.method},
                                  {"path", std::string_view(record.path).substr(0, kMaxLoggedPath)},
                                  {"status", record.status},
                                  {"ms", record.ms},
                                  {"in", record.body_bytes},
                                  {"out", record.sent_bytes}};
  if (!record.key_name.empty()) fields.emplace_back("key", record.key_name);
  for (const auto& [key, value] : record.annotations) {
    std::visit([&](const auto& known) { fields.emplace_back(key, known); }, value);
  }
  // Probes come every few seconds and say nothing when they succeed.
  const LogLevel level = record.status >= 500 && record.status != 503 ? LogLevel::kError
                         : IsProbe(record)                            ? LogLevel::kDebug
                                                                      : LogLevel::kInfo;
  Log(level, "request", fields.data(), fields.size());
}

TaskRouteOptions MakeTaskOptions(const ServerOptions& options) {
  TaskRouteOptions task_options;
  task_options.max_body_bytes = options.max_body_bytes;
  task_options.max_pictures = options.max_pictures;
  task_options.events.heartbeat = options.heartbeat;
  task_options.runner.max_in_flight = options.max_tasks_in_flight;
  task_options.runner.max_pictures = options.max_pictures;
  return task_options;
}

}  // namespace

class Server::Impl {
 public:
  explicit Impl(const ServerOptions& options)
      : images_(options.image_store),
        api_({.max_body_bytes = options.max_body_bytes,
              .max_pictures = options.max_pictures,
              .heartbeat = options.heartbeat,
              .stored = Stored(),
              .documents = options.documents},
             slot_, metrics_, costs_),
        token_options_{options.max_body_bytes, options.max_pictures, Stored(), options.documents},
        tasks_(options.tasks, slot_, MakeTaskOptions(options)),
        assets_(EmbeddedFiles()) {}

  Status Start(const ServerOptions& server_options) {
    std::shared_ptr<ApiKeys> keys;
    if (!server_options.api_keys_file.empty()) {
      SACCADE_ASSIGN_OR_RETURN(keys, ApiKeys::Load(server_options.api_keys_file));
    }
    HttpServerOptions options = server_options.http;
    options.require_loopback = keys == nullptr && !server_options.insecure_bind;
    access_ = std::make_unique<Access>(std::move(keys), metrics_);
    Router router;
    api_.AddTo(router);
    AddTokenRoutes(router, slot_, *costs_, token_options_);
    tasks_.AddTo(router);
    tasks_.AddMetrics(metrics_);
    AddImageRoutes(router, images_, token_options_.max_body_bytes);
    assets_.AddRoutes(router);
    metrics_.WatchBackend([this] { return slot_.Stats(); });
    SACCADE_ASSIGN_OR_RETURN(http_, HttpServer::Start(
                                        std::move(options), std::move(router),
                                        [this](HttpRequest& request, const Route& route) {
                                          auto refusal = access_->Check(request, route);
                                          return refusal ? std::move(refusal) : api_.Gate(request, route);
                                        },
                                        [this](const RequestRecord& record) {
                                          metrics_.CountRequest(record);
                                          LogRequest(record);
                                        }));
    metrics_.WatchConnections([this] { return static_cast<double>(http_->open_connections()); });
    return OkStatus();
  }

  void Drain(std::chrono::milliseconds timeout) {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    slot_.SetDraining();
    tasks_.StopClaiming();
    http_->Drain(timeout);
    tasks_.Stop(std::max(std::chrono::milliseconds(0), std::chrono::duration_cast<std::chrono::milliseconds>(
                                                           deadline - std::chrono::steady_clock::now())));
  }

  BackendSlot& slot() { return slot_; }
  HttpServer& http() { return *http_; }

 private:
  StoredPictures Stored() {
    return [this](std::string_view id) -> Result<ImageStore::Bytes> {
      SACCADE_ASSIGN_OR_RETURN(ImageStore::Kept kept, images_.Get(id));
      return std::move(kept.bytes);
    };
  }

  ServerMetrics metrics_;
  ImageStore images_;
  BackendSlot slot_;
  const std::shared_ptr<CostModel> costs_ = std::make_shared<CostModel>();
  std::unique_ptr<Access> access_;
  ApiRoutes api_;
  const TokenRouteOptions token_options_;
  TaskRoutes tasks_;
  Assets assets_;
  std::unique_ptr<HttpServer> http_;  // last: its threads use all of the above
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::Start(ServerOptions options) {
  auto impl = std::make_unique<Impl>(options);
  SACCADE_RETURN_IF_ERROR(impl->Start(options));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

int Server::port() const { return impl_->http().port(); }
void Server::SetBackend(std::shared_ptr<ChatBackend> backend) { impl_->slot().Set(std::move(backend)); }
void Server::SetNotReady(Status reason) { impl_->slot().SetNotReady(std::move(reason)); }
void Server::Drain(std::chrono::milliseconds timeout) { impl_->Drain(timeout); }
void Server::AbortDrain() { impl_->http().AbortDrain(); }

}  // namespace saccade
