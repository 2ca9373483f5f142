// Cuts text into the pieces that merges may not cross, by the regular expressions of tokenizer.json.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/json.h"
#include "base/status.h"

namespace saccade {

// Thread-safe after parsing.
class PreTokenizer {
 public:
  PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;
  ~PreTokenizer();

  // Reads "pre_tokenizer" of tokenizer.json: a ByteLevel step without a regex of its own, after any number of
  // Split steps with a regex and behaviour Isolated. Everything else is kUnsupported and named.
  static Result<PreTokenizer> Parse(const Json& description);

  // Hands every piece of `valid_utf8` to `piece`, in order; together they are the text. When a regex exceeds
  // its match limit (impossible for the published ones, whose time is linear), the rest of the text is one
  // piece.
  void Split(std::string_view valid_utf8, FunctionRef<void(std::string_view)> piece) const;

 private:
  class Regex;

  void SplitFrom(size_t step, std::string_view text, FunctionRef<void(std::string_view)> piece) const;
  Status AddStep(const Json& step);

  std::vector<Regex> steps_;
};

}  // namespace saccade
