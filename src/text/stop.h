// Ends an answer at a stop string, wherever the borders of the tokens are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

// Takes the text of an answer piece by piece and gives back what is certainly before any stop string; text
// that may be the start of one is held back. The string that is complete first wins, among those the longest,
// so the result does not depend on how the text is cut. Thread-compatible, one per sequence.
class StopMatcher {
 public:
  static constexpr size_t kMaxStrings = 16;
  static constexpr size_t kMaxBytes = 1024;  // per string

  StopMatcher() = default;  // no stop strings: everything passes
  // kInvalidArgument with param "stop" or "stop[i]" for empty, over-long or too many strings.
  static Result<StopMatcher> Make(std::vector<std::string> stop_strings);

  // Adds text and returns what can be sent. After a match nothing is returned any more.
  std::string Push(std::string_view text);
  // What was held back, when the answer ends without a match.
  std::string Flush();

  bool matched() const { return match_ >= 0; }
  // Which of the strings matched; -1: none yet.
  int match() const { return match_; }

 private:
  // A stop string and how far the text so far ends with a beginning of it (Knuth-Morris-Pratt).
  struct Pattern {
    std::string text;
    std::vector<uint16_t> fallback;  // by length of the beginning: the next shorter one that also fits
    size_t matched = 0;
  };
  static Pattern MakePattern(std::string text);
  static void Advance(Pattern& pattern, char next);

  std::vector<Pattern> patterns_;
  std::string held_;
  int match_ = -1;
};

}  // namespace saccade
