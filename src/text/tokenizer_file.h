// Reads tokenizer.json: the bulk (vocabulary and merges) straight into compact tables, the rest into a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

// The file's content, not yet checked for sense.
struct TokenizerFile {
  struct Span {
    uint32_t offset = 0, length = 0;
  };
  struct Token {
    Span bytes;
    int64_t id = 0;
  };

  // Everything but model.vocab and model.merges, which are null here.
  Json rest;
  std::vector<Token> vocab;
  // Pairs of tokens, the most important first; written as "a b" or as ["a", "b"].
  std::vector<std::pair<Span, Span>> merges;
  // The bytes behind all spans, the byte-level spelling undone.
  std::string arena;

  std::string_view Bytes(Span span) const { return std::string_view(arena).substr(span.offset, span.length); }
};

// Never trusts the text: limits on size and counts, a clear error for every wrong type.
Result<TokenizerFile> ParseTokenizerFile(std::string_view json_text);

}  // namespace saccade
