// The routes of the API: chat completions, models, health, metrics, and the description of them all.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "server/chat_backend.h"
#include "server/chat_session.h"
#include "server/router.h"
#include "server/server_metrics.h"

namespace saccade {

struct ApiOptions {
  size_t max_body_bytes = size_t{64} << 20;
  size_t max_pictures = 64;
  std::chrono::milliseconds heartbeat{10'000};
};

// Thread-safe.
class ApiRoutes {
 public:
  ApiRoutes(const ApiOptions& options, ServerMetrics& metrics) : options_(options), metrics_(metrics) {}

  // The routes refer to this object.
  void AddTo(Router& router);

  void SetBackend(std::shared_ptr<ChatBackend> backend);
  // Until there is a backend: why requests are refused, for instance that loading the model failed.
  void SetNotReady(Status reason);
  // From now on new chat requests are refused and /readyz fails.
  void SetDraining() { draining_ = true; }

  EngineStats Stats() const;

  // Refuses chat requests from their header alone while the server cannot answer them.
  std::optional<HttpResponse> Gate(const HttpRequest& request, const Route& route) const;

 private:
  std::shared_ptr<ChatBackend> backend() const;
  Status Ready() const;

  void Chat(std::shared_ptr<Exchange> exchange);
  void ListModels(Exchange& exchange) const;
  void ShowModel(Exchange& exchange) const;
  void ReportReady(Exchange& exchange) const;

  const ApiOptions options_;
  ServerMetrics& metrics_;
  std::atomic<bool> draining_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<ChatBackend> backend_;
  Status not_ready_ = Unavailable("the model is still loading");
};

}  // namespace saccade
