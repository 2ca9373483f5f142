// Turns the tokens of one answer into text as they arrive.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace saccade {

// A token may end inside a character. The decoder holds such bytes back until the character is complete, and
// replaces them by U+FFFD as soon as they cannot become one. All texts together equal Tokenizer::Decode of
// all ids. Thread-compatible, one per sequence; the tokenizer must outlive it.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skip_special = true)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  // The text that `id` completes: valid UTF-8, possibly empty.
  std::string Push(int32_t id);
  // What is left when the answer ends: empty or one U+FFFD.
  std::string Flush();

  // Bytes held back, at most three.
  size_t pending_bytes() const { return pending_.size(); }

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  std::string pending_;
};

}  // namespace saccade
