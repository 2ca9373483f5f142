// The part of a request's life before the queue: pictures to patches, messages to token ids, cost to
// certainty.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint.h"
#include "engine/image_cache.h"
#include "engine/request.h"

namespace saccade {

// Everything the engine thread needs. Owned by one request; not changed after it was queued.
struct PreparedRequest {
  std::vector<int32_t> prompt;  // token ids, every picture expanded to its image tokens
  PromptPositions positions;    // of the prompt
  std::vector<PatchGrid> pictures;
  std::vector<GridThw> grids;  // of the pictures, in order
  std::vector<Sha256Digest> digests;
  std::vector<int64_t> image_starts;  // where each picture stands in the prompt
  SamplingParams sampling;
  int64_t max_tokens = 0;  // at least 1; prompt + max_tokens fits the context
  StopMatcher stop;        // in its initial state
  bool ignore_eos = false;
  int top_logprobs = -1;
  int64_t image_tokens = 0;
  Priority priority = Priority::kInteractive;
  std::string user;         // empty: a user of its own
  std::string cache_scope;  // pictures and prompts are shared inside it
  RequestTimings timings;   // decode_image and resize are filled in here
};

// Thread-safe. Fails with the part at fault in Status::param(), e.g. "pictures[1]"; with kInvalidArgument
// when the prompt does not fit `context_tokens` (the message has needed and available tokens).
Result<std::shared_ptr<PreparedRequest>> PrepareRequest(const Checkpoint& checkpoint, const ChatInput& input,
                                                        int64_t context_tokens);

}  // namespace saccade
