// The server's own metrics, named in one place.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "engine/engine.h"
#include "server/http_server.h"
#include "server/metrics.h"

namespace saccade {

// Thread-safe.
class ServerMetrics {
 public:
  ServerMetrics();

  void CountRequest(const RequestRecord& record);
  void CountRefused(std::string_view reason);  // a stable name such as "resource_exhausted"

  // Values that are read at every scrape; `stats` may say that there is no engine yet.
  void WatchBackend(std::function<EngineStats()> stats);
  void WatchConnections(std::function<double()> open);
  void Watch(std::string_view name, std::string_view help, std::string_view kind,
             std::function<double()> read);

  Histogram& first_token_seconds;
  Histogram& token_gap_seconds;
  Histogram& queue_seconds;
  Histogram& picture_seconds;
  Histogram& vision_seconds;

  std::string Text() const { return registry_->Text(); }

 private:
  explicit ServerMetrics(std::unique_ptr<MetricsRegistry> registry);
  std::unique_ptr<MetricsRegistry> registry_;
};

}  // namespace saccade
