// What the chat API needs of an engine. The real one is engine_backend; tests script their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/request.h"

namespace saccade {

struct ModelCard {
  std::string id;
  int64_t created = 0;         // seconds since the epoch, when the model was loaded
  int64_t context_tokens = 0;  // prompt and answer together
  PixelLimits pixel_limits;    // when a request names none
};

// A request whose cost is known. Thread-safe.
class PreparedChat {
 public:
  virtual ~PreparedChat() = default;

  virtual RequestUsage Cost() const = 0;
  // Queues the request, once. After success `sink` gets events until Finished or Failed, on a thread of the
  // backend; after an error it gets none.
  virtual Status Submit(EventSink sink) = 0;
  // Stops the request soon; its last event still comes. Does nothing before Submit and after the last event.
  virtual void Cancel() = 0;
};

// Thread-safe.
class ChatBackend {
 public:
  virtual ~ChatBackend() = default;

  virtual const ModelCard& model() const = 0;
  // Decodes pictures and encodes the text on the calling thread. Errors name the part at fault; the second
  // picture is "pictures[1]".
  virtual Result<std::shared_ptr<PreparedChat>> Prepare(const ChatInput& input) = 0;
  virtual EngineStats Stats() const = 0;
  // The bytes of a token, possibly a part of a character.
  virtual std::string TokenBytes(int32_t token) const = 0;
};

}  // namespace saccade
