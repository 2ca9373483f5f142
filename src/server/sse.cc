#include "server/sse.h"

#include <fmt/format.h>

#include <algorithm>

namespace saccade {

std::string SseData(std::string_view json) { return fmt::format("data: {}\n\n", json); }

std::string SseComment(std::string_view text) {
  std::string comment = fmt::format(": {}", text);
  std::replace_if(
      comment.begin(), comment.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return comment + "\n\n";
}

}  // namespace saccade
