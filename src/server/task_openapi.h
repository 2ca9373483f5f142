// The part of /openapi.json that describes durable tasks and batches.
#pragma once

#include "base/json.h"

namespace saccade {

OrderedJson TaskPaths();
// `chat_request` is the schema of a chat request, whose fields a task has too.
OrderedJson TaskSchemas(const OrderedJson& chat_request);

}  // namespace saccade
