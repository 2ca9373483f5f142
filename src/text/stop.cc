#include "text/stop.h"

#include <algorithm>
#include <utility>

namespace saccade {
// Moves on by one byte of text. A complete match is left at matched == text.size().
void StopMatcher::Advance(Pattern& pattern, char next) {
  if (pattern.matched == pattern.text.size()) pattern.matched = pattern.fallback[pattern.matched];
  while (pattern.matched > 0 && pattern.text[pattern.matched] != next) {
    pattern.matched = pattern.fallback[pattern.matched];
  }
  if (pattern.text[pattern.matched] == next) ++pattern.matched;
}

StopMatcher::Pattern StopMatcher::MakePattern(std::string text) {
  Pattern pattern;
  pattern.text = std::move(text);
  pattern.fallback = {0, 0};
  // Matching the string, from its second byte on, against itself yields the fallbacks in the order they are
  // needed.
  for (size_t i = 1; i < pattern.text.size(); ++i) {
    Advance(pattern, pattern.text[i]);
    pattern.fallback.push_back(static_cast<uint16_t>(pattern.matched));
  }
  pattern.matched = 0;
  return pattern;
}

Result<StopMatcher> StopMatcher::Make(std::vector<std::string> stop_strings) {
  if (stop_strings.size() > kMaxStrings) {
    return InvalidArgument("{} stop strings are given, the limit is {}", stop_strings.size(), kMaxStrings)
        .WithParam("stop");
  }
  for (size_t i = 0; i < stop_strings.size(); ++i) {
    const std::string name = fmt::format("stop[{}]", i);
    if (stop_strings[i].empty()) return InvalidArgument("a stop string is empty").WithParam(name);
    if (stop_strings[i].size() > kMaxBytes) {
      return InvalidArgument("a stop string has {} bytes, the limit is {}", stop_strings[i].size(), kMaxBytes)
          .WithParam(name);
    }
  }
  StopMatcher matcher;
  for (std::string& text : stop_strings) matcher.patterns_.push_back(MakePattern(std::move(text)));
  return matcher;
}

std::string StopMatcher::Push(std::string_view text) {
  if (matched()) return {};
  if (patterns_.empty()) return std::string(text);
  size_t end = held_.size();
  held_ += text;
  size_t matched_bytes = 0;
  while (end < held_.size() && match_ < 0) {
    const char next = held_[end++];
    for (size_t i = 0; i < patterns_.size(); ++i) {
      Advance(patterns_[i], next);
      const size_t length = patterns_[i].text.size();
      if (patterns_[i].matched < length || length <= matched_bytes) continue;
      matched_bytes = length;
      match_ = static_cast<int>(i);
    }
  }
  if (matched()) {
    std::string out = held_.substr(0, end - matched_bytes);
    held_.clear();
    return out;
  }
  size_t hold = 0;
  for (const Pattern& pattern : patterns_) hold = std::max(hold, pattern.matched);
  std::string out = held_.substr(0, held_.size() - hold);
  held_.erase(0, out.size());
  return out;
}

std::string StopMatcher::Flush() { return std::exchange(held_, {}); }

}  // namespace saccade
