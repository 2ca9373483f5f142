// What the API needs of an engine. The real one is engine_backend; tests script their own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

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
  // Queues one answer to the request; several may be queued, each with a `choice` of its own that decides its
  // random numbers. After success `sink` gets events until Finished or Failed, on a thread of the backend;
  // after an error it gets none.
  virtual Status Submit(EventSink sink, int choice = 0) = 0;
  // Stops all answers soon; their last events still come. Does nothing before Submit and after the last
  // event.
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
  // What Prepare and the answer would take, without decoding anything; same errors.
  virtual Result<RequestEstimate> Estimate(const ChatInput& input) const = 0;
  virtual EngineStats Stats() const = 0;

  // Ids of a text. In the text of a user nothing is a control token; with `control_tokens` their spellings
  // are.
  virtual std::vector<int32_t> Tokenize(std::string_view text, bool control_tokens) const = 0;
  // Ids of a conversation as the model sees it, each picture as one token.
  virtual Result<std::vector<int32_t>> TokenizeChat(const Conversation& conversation) const = 0;
  // Always valid UTF-8. kInvalidArgument for an id that is not the model's.
  virtual Result<std::string> Detokenize(const std::vector<int32_t>& tokens) const = 0;
  // The bytes of a token, possibly a part of a character.
  virtual std::string TokenBytes(int32_t token) const = 0;
};

}  // namespace saccade
