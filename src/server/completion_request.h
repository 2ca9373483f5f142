// The body of POST /v1/completions: plain text that the model goes on from.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "server/answer_options.h"

namespace saccade {

struct CompletionRequest : AnswerOptions {
  // Texts and lists of token ids, at least one.
  std::vector<std::variant<std::string, std::vector<int32_t>>> prompts;
  int logprobs = -1;  // -1: none; alternatives per token otherwise
};

Result<CompletionRequest> ParseCompletionRequest(std::string_view body);

// JSON Schema of the body, for /openapi.json.
OrderedJson CompletionRequestSchema();

// A list of token ids; `name` is what errors call it.
Result<std::vector<int32_t>> ReadTokenList(const OrderedJson& value, std::string_view name);

}  // namespace saccade
