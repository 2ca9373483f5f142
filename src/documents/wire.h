// The records between the rendering child and its parent: a length of four bytes, then that many.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace saccade {

inline void AppendRecord(std::string& out, std::string_view record) {
  const auto length = static_cast<uint32_t>(record.size());
  char bytes[sizeof(length)];
  std::memcpy(bytes, &length, sizeof(length));
  out.append(bytes, sizeof(length));
  out.append(record);
}

// Removes the first record from `input`; nullopt when it is not there completely.
inline std::optional<std::string_view> TakeRecord(std::string_view& input) {
  uint32_t length = 0;
  if (input.size() < sizeof(length)) return std::nullopt;
  std::memcpy(&length, input.data(), sizeof(length));
  if (input.size() - sizeof(length) < length) return std::nullopt;
  const std::string_view record = input.substr(sizeof(length), length);
  input.remove_prefix(sizeof(length) + length);
  return record;
}

}  // namespace saccade
