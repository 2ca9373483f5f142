// The routes of the OpenAI API, models, health, metrics, and the description of them all.
#pragma once

#include <memory>

#include "server/answer_session.h"
#include "server/backend_slot.h"
#include "server/cost_model.h"
#include "server/queue_gate.h"
#include "server/request_pictures.h"
#include "server/router.h"
#include "server/server_metrics.h"

namespace saccade {

struct ApiOptions {
  size_t max_body_bytes = size_t{64} << 20;
  size_t max_pictures = 64;
  std::chrono::milliseconds heartbeat{10'000};
  StoredPictures stored;
  DocumentSettings documents;
};

// Thread-safe.
class ApiRoutes {
 public:
  ApiRoutes(const ApiOptions& options, BackendSlot& slot, ServerMetrics& metrics,
            std::shared_ptr<CostModel> costs)
      : options_(options), slot_(slot), metrics_(metrics), costs_(std::move(costs)) {}

  // The routes refer to this object.
  void AddTo(Router& router);

  // Refuses requests for the model from their header alone while the server cannot answer them, or has no
  // place in its queue.
  std::optional<HttpResponse> Gate(HttpRequest& request, const Route& route);

 private:
  // Turns a request's body into an answer request; false when it was refused and answered.
  using Parse = Result<AnswerRequest> (ApiRoutes::*)(const HttpRequest&, ChatBackend&) const;
  void Answer(std::shared_ptr<Exchange> exchange, Parse parse);
  Result<AnswerRequest> ParseChat(const HttpRequest& http, ChatBackend& backend) const;
  Result<AnswerRequest> ParseCompletion(const HttpRequest& http, ChatBackend& backend) const;
  void StopAnswer(Exchange& exchange, std::string_view object) const;

  void ListModels(Exchange& exchange) const;
  void ShowModel(Exchange& exchange) const;
  void ReportReady(Exchange& exchange) const;

  const ApiOptions options_;
  BackendSlot& slot_;
  ServerMetrics& metrics_;
  const std::shared_ptr<CostModel> costs_;
  QueueGate queue_;
  const std::shared_ptr<RunningAnswers> running_ = std::make_shared<RunningAnswers>();
};

}  // namespace saccade
