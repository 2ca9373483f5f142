#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

namespace saccade {

AddedTokenFinder::AddedTokenFinder(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  // std::string compares as unsigned bytes, which is the order `first_` needs.
  std::sort(tokens_.begin(), tokens_.end(),
            [](const Token& a, const Token& b) { return a.content < b.content; });
  for (const Token& token : tokens_) ++first_[static_cast<uint8_t>(token.content[0]) + 1U];
  for (size_t byte = 1; byte < first_.size(); ++byte) first_[byte] += first_[byte - 1];
}

std::optional<AddedTokenMatch> AddedTokenFinder::MatchAt(std::string_view text, size_t begin) const {
  const auto first_byte = static_cast<uint8_t>(text[begin]);
  auto low = tokens_.begin() + first_[first_byte];
  auto high = tokens_.begin() + first_[first_byte + 1U];
  std::optional<AddedTokenMatch> longest;
  // [low, high): tokens that agree with the text in the first `depth` bytes and are at least that long.
  for (size_t depth = 1; low != high; ++depth) {
    while (low != high && low->content.size() == depth) {
      longest = AddedTokenMatch{begin, begin + depth, low->id};
      ++low;
    }
    if (begin + depth >= text.size()) break;
    const auto next = static_cast<uint8_t>(text[begin + depth]);
    const auto byte_at = [depth](const Token& token) { return static_cast<uint8_t>(token.content[depth]); };
    low = std::partition_point(low, high, [&](const Token& token) { return byte_at(token) < next; });
    high = std::partition_point(low, high, [&](const Token& token) { return byte_at(token) == next; });
  }
  return longest;
}

std::optional<AddedTokenMatch> AddedTokenFinder::Find(std::string_view text, size_t from) const {
  if (tokens_.empty()) return std::nullopt;
  for (size_t begin = from; begin < text.size(); ++begin) {
    const auto byte = static_cast<uint8_t>(text[begin]);
    if (first_[byte] == first_[byte + 1U]) continue;
    if (const auto match = MatchAt(text, begin); match.has_value()) return match;
  }
  return std::nullopt;
}

}  // namespace saccade
