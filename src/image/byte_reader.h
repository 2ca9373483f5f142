// Bounds-checked reads of foreign bytes. A read past the end gives zero: parsers check sizes where the
// difference matters and cannot overrun where they forget.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace saccade {

inline uint32_t ReadLittleEndian(std::span<const std::byte> bytes, size_t at, int count) {
  if (at > bytes.size() || bytes.size() - at < static_cast<size_t>(count)) return 0;
  uint32_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

inline uint32_t ReadBigEndian(std::span<const std::byte> bytes, size_t at, int count) {
  if (at > bytes.size() || bytes.size() - at < static_cast<size_t>(count)) return 0;
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

}  // namespace saccade
