// The JSON of answers: chat completions and text completions, whole and in chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/request.h"

namespace saccade {

// What all parts of one answer have in common.
struct ReplyHead {
  std::string id;  // "chatcmpl-..."
  int64_t created = 0;
  std::string model;
};

// The bytes of a token, possibly a part of a character.
using TokenBytesFunction = std::function<std::string(int32_t token)>;

std::string DumpJson(const OrderedJson& value);  // invalid UTF-8 becomes U+FFFD instead of an error

// "citations" and "page_answers" of an answer that was made page by page, into its message or delta.
void AddPageAnswers(const std::vector<PageAnswer>& pages, OrderedJson& message);

OrderedJson UsageJson(const RequestUsage& usage);
OrderedJson TimingsJson(const RequestTimings& timings);
OrderedJson ProgressJson(const ProgressEvent& progress);  // {"stage", "done", "total"}
std::string ProgressText(const ProgressEvent& progress);  // "queued 2", "encoding 3/24", "prefill 256/1024"

// The log probabilities of a choice's tokens so far; `offset` counts the characters before them and moves on.
struct LogprobPiece {
  std::span<const TokenLogprob> logprobs;
  const TokenBytesFunction& token_bytes;
  int64_t& offset;
};

// How the two kinds of completions differ. Immutable and thread-safe; a choice is one entry of "choices".
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;

  virtual std::string_view id_prefix() const = 0;
  virtual std::string_view whole_object() const = 0;
  virtual std::string_view chunk_object() const = 0;

  virtual OrderedJson Logprobs(const LogprobPiece& piece) const = 0;
  virtual OrderedJson WholeChoice(int index, std::string_view text, OrderedJson logprobs,
                                  FinishReason reason) const = 0;
  // A piece of text; the first one of a chat also names the role.
  virtual OrderedJson TextChoice(int index, std::string_view text, bool first,
                                 OrderedJson logprobs) const = 0;
  // The last chunk of a choice: why it ended.
  virtual OrderedJson LastChoice(int index, bool first, FinishReason reason) const = 0;
};

const AnswerFormat& ChatFormat();
const AnswerFormat& TextFormat();

// The whole answer.
std::string WholeJson(const AnswerFormat& format, const ReplyHead& head, OrderedJson choices,
                      const RequestUsage& usage, const RequestTimings& timings);
// A chunk of a stream: with one choice, or without any; `more` are members beside the choices.
std::string ChunkJson(const AnswerFormat& format, const ReplyHead& head, OrderedJson choices,
                      const OrderedJson& more = OrderedJson::object());

}  // namespace saccade
