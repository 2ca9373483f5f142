// Framing of server-sent events: data, comments, heartbeats.
#pragma once

#include <string>
#include <string_view>

namespace saccade {

inline constexpr std::string_view kSsePing = ": ping\n\n";
inline constexpr std::string_view kSseDone = "data: [DONE]\n\n";

// "data: <json>"; `json` has no line break, as dumped JSON never has.
std::string SseData(std::string_view json);

// ": <text>"; clients skip comments, ours reads progress from them. Line breaks become spaces.
std::string SseComment(std::string_view text);

}  // namespace saccade
