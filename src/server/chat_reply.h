// The JSON of answers: chat completions, whole and in chunks.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
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

OrderedJson UsageJson(const RequestUsage& usage);
OrderedJson TimingsJson(const RequestTimings& timings);
// The entries of "logprobs": {"content": [...]}.
OrderedJson LogprobEntries(const std::vector<TokenLogprob>& logprobs, const TokenBytesFunction& token_bytes);

// chat.completion. `logprobs` is the list of all entries, or null when not asked for.
std::string CompletionJson(const ReplyHead& head, std::string_view text, OrderedJson logprobs,
                           const FinishedEvent& finished);

// chat.completion.chunk with a piece of text; the first one also names the role.
std::string TextChunkJson(const ReplyHead& head, std::string_view text, bool first, OrderedJson logprobs);
// The last chunk with a choice: why the answer ended, and the timings.
std::string FinishChunkJson(const ReplyHead& head, bool first, const FinishedEvent& finished);
// The chunk that stream_options.include_usage asks for.
std::string UsageChunkJson(const ReplyHead& head, const RequestUsage& usage);

}  // namespace saccade
