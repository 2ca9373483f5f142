// The chat API's view of a running engine.
#pragma once

#include <memory>

#include "server/chat_backend.h"

namespace saccade {

std::shared_ptr<ChatBackend> MakeEngineBackend(std::shared_ptr<Engine> engine);

}  // namespace saccade
