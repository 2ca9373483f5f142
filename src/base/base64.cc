#include "base/base64.h"

#include <array>
#include <cstdint>

namespace saccade {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Values of the characters; everything else has the top bit set.
constexpr uint8_t kSpace = 0x80, kPadding = 0x81, kBad = 0xFF;

constexpr std::array<uint8_t, 256> MakeValues() {
  std::array<uint8_t, 256> values{};
  values.fill(kBad);
  for (size_t i = 0; i < kAlphabet.size(); ++i)
    values[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  values['-'] = 62;
  values['_'] = 63;
  values['='] = kPadding;
  for (const char c : {' ', '\t', '\n', '\r', '\f', '\v'}) values[static_cast<uint8_t>(c)] = kSpace;
  return values;
}
constexpr std::array<uint8_t, 256> kValues = MakeValues();

Status BadByte(std::string_view text, size_t pos, std::string_view what) {
  return InvalidArgument("invalid base64: {} (0x{:02X}) at position {}", what,
                         static_cast<uint8_t>(text[pos]), pos);
}

// Whole groups of four without whitespace, from `pos` on; returns where they end.
size_t DecodeGroups(std::string_view text, size_t pos, std::byte*& out) {
  for (; pos + 4 <= text.size(); pos += 4) {
    const auto value = [&](size_t i) { return uint32_t{kValues[static_cast<uint8_t>(text[pos + i])]}; };
    const uint32_t a = value(0), b = value(1), c = value(2), d = value(3);
    if (((a | b | c | d) & 0x80) != 0) break;
    const uint32_t bits = a << 18 | b << 12 | c << 6 | d;
    out[0] = static_cast<std::byte>(bits >> 16);
    out[1] = static_cast<std::byte>(bits >> 8);
    out[2] = static_cast<std::byte>(bits);
    out += 3;
  }
  return pos;
}

}  // namespace

Result<std::vector<std::byte>> DecodeBase64(std::string_view text) {
  std::vector<std::byte> bytes(Base64DecodedBound(text.size()));
  std::byte* out = bytes.data();
  uint32_t bits = 0;
  int held = 0;  // characters of the current group: 0 to 3
  int padding = 0;
  for (size_t pos = 0; pos < text.size(); ++pos) {
    if (held == 0 && padding == 0) {
      pos = DecodeGroups(text, pos, out);
      if (pos == text.size()) break;
    }
    const uint8_t value = kValues[static_cast<uint8_t>(text[pos])];
    if (value == kSpace) continue;
    if (value == kBad) return BadByte(text, pos, "unexpected byte");
    if (value == kPadding) {
      if (held < 2 || ++padding > 4 - held) return BadByte(text, pos, "misplaced padding");
      continue;
    }
    if (padding != 0) return BadByte(text, pos, "data after padding");
    bits = bits << 6 | value;
    if (++held < 4) continue;
    for (const int shift : {16, 8, 0}) *out++ = static_cast<std::byte>(bits >> shift);
    bits = 0;
    held = 0;
  }
  if (held == 1) return InvalidArgument("invalid base64: it ends with a single left-over character");
  if (padding != 0 && padding != 4 - held) {
    return InvalidArgument("invalid base64: the padding at the end is incomplete");
  }
  if (held >= 2) *out++ = static_cast<std::byte>(bits >> (held == 2 ? 4 : 10));
  if (held == 3) *out++ = static_cast<std::byte>(bits >> 2);
  bytes.resize(static_cast<size_t>(out - bytes.data()));
  return bytes;
}

std::string EncodeBase64(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j)
      bits = bits << 8 | (j < count ? std::to_integer<uint32_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kAlphabet[bits >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace saccade
