// Tokens that are matched in the text before anything else: <|im_start|>, <think>, ...
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {

// An occurrence of an added token in a text.
struct AddedTokenMatch {
  size_t begin = 0, end = 0;
  int32_t id = -1;
};

// Finds the longest token at the leftmost place. Filled once by the constructor, then thread-safe.
class AddedTokenFinder {
 public:
  struct Token {
    std::string content;  // not empty
    int32_t id;
  };

  AddedTokenFinder() = default;
  explicit AddedTokenFinder(std::vector<Token> tokens);

  // The first occurrence at or after `from`.
  std::optional<AddedTokenMatch> Find(std::string_view text, size_t from) const;

 private:
  std::optional<AddedTokenMatch> MatchAt(std::string_view text, size_t begin) const;

  std::vector<Token> tokens_;  // sorted by content
  // Tokens that start with byte b are tokens_[first_[b]] up to tokens_[first_[b + 1]].
  std::array<uint32_t, 257> first_{};
};

}  // namespace saccade
