// What goes into the engine and what comes out: plain data, no behaviour.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/status.h"
#include "image/image.h"
#include "text/text.h"

namespace saccade {

// One picture of a request as the client sent it.
struct PictureInput {
  std::shared_ptr<const std::vector<std::byte>> bytes;  // the encoded file
  std::optional<PixelLimits> limits;                    // overrides the checkpoint's min_pixels / max_pixels
  // Of a page of a document; nothing to the engine, which answers about pictures.
  int page = 0;                // 1-based; 0: not a page
  std::string document = {};   // its name, may be empty
  std::string page_text = {};  // its text layer, when that is wanted
};

// A question is asked about each page, then the pages' answers are combined: server/page_by_page.h.
struct PageByPage {
  bool list = false;                       // the answers one below the other instead of combined by the model
  std::optional<std::string> page_prompt;  // after the question about each page
  double min_confidence = 0;               // answers of a lower mean token probability do not count
};
struct PageAnswer {
  std::string document;
  int page = 0;
  std::string text;
  double confidence = 0;  // geometric mean of the tokens' probabilities
  bool counts = false;    // the page had an answer
  bool cited = false;     // by the combined answer
};

// How an answer is generated. Unset fields take the checkpoint's generation_config.json.
struct GenerationOptions {
  std::optional<float> temperature, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty;
  std::optional<int> top_k;
  std::optional<uint64_t> seed;   // unset: a fresh one for every request
  std::optional<int> max_tokens;  // unset: up to the context
  std::vector<std::string> stop;  // text that ends the answer; never part of it
  bool ignore_eos = false;        // keep going past end tokens (load tests)
  int top_logprobs = -1;          // -1: no log probabilities; 0..20: that many alternatives per token
};

// Whose turn it is when not everybody can run: everything interactive goes before everything of the batch
// class.
enum class Priority : uint8_t { kInteractive, kBatch };

// A conversation with pictures, before any work was done. Pictures are in the order of the image parts.
struct ChatInput {
  Conversation conversation;
  std::vector<PictureInput> pictures;
  // Token ids to go on from instead of the conversation, which is then ignored; empty: the conversation.
  std::vector<int32_t> prompt_tokens;
  GenerationOptions options;
  std::optional<PageByPage> page_by_page;  // the engine itself takes all pictures together
  bool auto_fit = false;  // shrink the largest pictures until prompt and answer fit the context
  Priority priority = Priority::kInteractive;
  // Requests of one user share that user's turn; empty: the request counts as a user of its own. Any stable
  // name, such as a hash of the API key.
  std::string user;
  // Requests of one scope share encoded pictures and computed prompts, those of different scopes never do.
  std::string cache_scope;
};

// Milliseconds per stage of one request: its own picture preparation, its time in the queue, and the whole
// duration of the steps that it took part in (shared with the other requests of these steps).
struct RequestTimings {
  double decode_image = 0, resize = 0, queue = 0, vision = 0, prefill = 0, decode = 0, first_token = 0;
};

// What a request would need, known without decoding or computing anything.
struct RequestEstimate {
  struct Picture {
    Size original, resized;
    int64_t tokens = 0;
  };
  std::vector<Picture> pictures;
  int64_t prompt_tokens = 0, image_tokens = 0;
  int64_t max_tokens = 0;      // of the answer
  int64_t context_tokens = 0;  // what prompt and answer may have together
  int64_t kv_bytes = 0;        // keys and values of prompt and longest answer
  int64_t picture_bytes = 0;   // patches and encoded pictures
};

struct RequestUsage {
  int64_t prompt_tokens = 0;      // text and image tokens
  int64_t image_tokens = 0;       // part of prompt_tokens
  int64_t cached_tokens = 0;      // part of prompt_tokens whose KV was reused
  int64_t completion_tokens = 0;  // end token not counted
};

enum class FinishReason : uint8_t { kStop, kLength, kCancelled };
std::string_view FinishReasonName(FinishReason reason);  // "stop", "length", "cancelled"

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0;
  std::vector<std::pair<int32_t, float>> top;
};

// Events of one request, in order: any number of Progress, then Text, then exactly one Finished or a Failed.
struct ProgressEvent {
  enum class Stage : uint8_t { kQueued, kVision, kPrefill, kPages } stage = Stage::kQueued;
  int64_t done = 0, total = 0;  // queue position / vision layers / prompt tokens / answered pages
};
struct TextEvent {
  std::string text;             // complete UTF-8; may be empty when only a token id or logprob is reported
  std::vector<int32_t> tokens;  // the ids behind it since the last event
  std::vector<TokenLogprob> logprobs;  // one per token when asked for
};
struct FinishedEvent {
  FinishReason reason = FinishReason::kStop;
  RequestUsage usage;
  RequestTimings timings;
  std::vector<PageAnswer> pages = {};  // of a question that was asked page by page
};
struct FailedEvent {
  Status status;
};
using Event = std::variant<ProgressEvent, TextEvent, FinishedEvent, FailedEvent>;

// Called on the engine thread, in order; must return quickly and must not call back into the engine.
using EventSink = std::function<void(Event)>;

}  // namespace saccade
