// Routes that answer without computing anything: tokens of texts, texts of tokens, the cost of a request.
#pragma once

#include <cstddef>

#include "server/backend_slot.h"
#include "server/cost_model.h"
#include "server/request_pictures.h"
#include "server/router.h"
#include "server/schema.h"

namespace saccade {

// POST /tokenize, /detokenize and /v1/estimate. `slot` and `costs` outlive the router.
struct TokenRouteOptions {
  size_t max_body_bytes = size_t{64} << 20;
  size_t max_pictures = 64;
  StoredPictures stored;
  DocumentSettings documents;
};
void AddTokenRoutes(Router& router, BackendSlot& slot, const CostModel& costs,
                    const TokenRouteOptions& options);

OrderedJson TokenizeRequestSchema();
OrderedJson DetokenizeRequestSchema();

}  // namespace saccade
