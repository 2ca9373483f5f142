// Facade of the engine layer: one checkpoint, one engine thread, many requests.
//
// The engine thread alone touches sequences, KV pages and the compute pool. Other threads hand in prepared
// requests and receive events. A step mixes the decode rows of every running answer with a slice of prompt
// tokens and a slice of vision work, so that no picture stops running answers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/thread_pool.h"
#include "base/topology.h"
#include "engine/checkpoint.h"
#include "engine/request.h"

namespace saccade {

struct EngineOptions {
  int threads = 0;                 // compute threads; 0: what the topology advises
  int max_running = 16;            // sequences that decode together
  int max_waiting = 64;            // requests that may wait; more are refused with kResourceExhausted
  double max_gap_ms = 250;         // the longest pause that pictures and prompts may cause in running answers
  int prefill_slice_tokens = 512;  // most prompt tokens per step while answers are running
  int prefill_burst_tokens = 1024;  // and while none is
  int64_t kv_cache_tokens = 0;      // capacity of the KV page pool; 0: from memory, at least one full context
  KvType kv_type = KvType::kBf16;
  int64_t image_cache_bytes = int64_t{256} << 20;  // encoded pictures that are kept for later requests
  bool prefix_cache = true;  // keep the KV pages of answered prompts while nobody else needs them
  bool pin_threads = true;
};

// A request whose pictures are decoded and whose tokens are known: its cost is certain. Opaque to callers.
struct PreparedRequest;

struct EngineStats {
  int64_t waiting = 0, running = 0;
  int64_t max_waiting = 0;                        // more are refused
  int64_t kv_pages_total = 0, kv_pages_used = 0;  // used: held by requests
  int64_t kv_pages_cached = 0;                    // known to the prefix cache, in use or not
  int64_t cached_tokens = 0;                      // prompt tokens that were not computed again
  int64_t preemptions = 0;
  int64_t requests_finished = 0, requests_failed = 0, requests_cancelled = 0;
  int64_t prompt_tokens = 0, completion_tokens = 0, image_tokens = 0;
  int64_t pictures_encoded = 0;  // went through the tower
  int64_t image_cache_bytes = 0, image_cache_hits = 0;
  // Text steps by the number of sequences in them: up to 1, 2, 4, ... 64, and more; and the sum of these
  // numbers.
  std::array<int64_t, 8> steps_by_width{};
  int64_t step_sequences = 0;
};

// Thread-safe: every public member may be called from any thread.
class Engine {
 public:
  using RequestId = uint64_t;

  // Starts the engine thread. The checkpoint is shared and immutable.
  static Result<std::unique_ptr<Engine>> Start(std::shared_ptr<const Checkpoint> checkpoint,
                                               EngineOptions options);
  ~Engine();  // cancels everything and joins

  // The costly, thread-safe part before the queue: decodes and resizes pictures, renders the template,
  // encodes the text and checks the length against the context. Runs on the caller's thread. Errors name the
  // part at fault in Status::param() ("pictures[1]" for the second picture).
  Result<std::shared_ptr<PreparedRequest>> Prepare(const ChatInput& input) const;
  // What Prepare and the request's run would need, from the text and the pictures' headers; same errors.
  Result<RequestEstimate> Estimate(const ChatInput& input) const;
  // Prompt and image tokens of a prepared request.
  static RequestUsage Cost(const PreparedRequest& request);

  // Queues the request. Events arrive at `sink` on the engine thread until Finished or Failed. A prepared
  // request may be submitted several times for several answers: `choice` moves the seed (0: as asked), and
  // the prompt is computed once.
  Result<RequestId> Submit(std::shared_ptr<const PreparedRequest> request, EventSink sink, int choice = 0);
  // Stops a request within one step; its last event is Finished with kCancelled. Unknown ids are ignored.
  void Cancel(RequestId id);

  EngineStats Stats() const;
  const Checkpoint& checkpoint() const;
  const EngineOptions& options() const;

 private:
  class Impl;
  explicit Engine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace saccade
