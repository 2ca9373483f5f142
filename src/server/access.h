// Who sends a request and whether he may: looked at when the header is there, before the body is read.
#pragma once

#include <memory>
#include <optional>

#include "server/api_keys.h"
#include "server/router.h"
#include "server/server_metrics.h"

namespace saccade {

// Thread-safe. Without keys everybody may everything, and users are told apart by the key they send anyway or
// by their address.
class Access {
 public:
  Access(std::shared_ptr<ApiKeys> keys, ServerMetrics& metrics) : keys_(std::move(keys)), metrics_(metrics) {}

  // Fills in the request's caller and lease; an answer refuses the request.
  std::optional<HttpResponse> Check(HttpRequest& request, const Route& route);

 private:
  const std::shared_ptr<ApiKeys> keys_;  // may be null
  ServerMetrics& metrics_;
};

}  // namespace saccade
