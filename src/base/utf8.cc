#include "base/utf8.h"

#include <cstring>

namespace saccade {
namespace {

// Length of a sequence with this lead byte and the range its second byte must lie in; length 0: no lead byte.
struct Lead {
  uint8_t length, second_min, second_max;
};

Lead Classify(uint8_t byte) {
  if (byte < 0x80) return {1, 0, 0};
  if (byte < 0xC2) return {0, 0, 0};
  if (byte < 0xE0) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};  // surrogates
  if (byte < 0xF0) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte < 0xF4) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Utf8Step DecodeUtf8(std::string_view text, size_t pos) {
  using Kind = Utf8Step::Kind;
  if (pos >= text.size()) return {};
  const auto first = static_cast<uint8_t>(text[pos]);
  const Lead lead = Classify(first);
  if (lead.length == 1) return {Kind::kValid, 1, first};
  if (lead.length == 0) return {Kind::kInvalid, 1, kReplacementCharacter};
  char32_t code_point = first & (0x7FU >> lead.length);
  for (uint8_t i = 1; i < lead.length; ++i) {
    if (pos + i >= text.size()) return {Kind::kIncomplete, i, kReplacementCharacter};
    const auto byte = static_cast<uint8_t>(text[pos + i]);
    const uint8_t min = i == 1 ? lead.second_min : 0x80;
    const uint8_t max = i == 1 ? lead.second_max : 0xBF;
    if (byte < min || byte > max) return {Kind::kInvalid, i, kReplacementCharacter};
    code_point = (code_point << 6) | (byte & 0x3FU);
  }
  return {Kind::kValid, lead.length, code_point};
}

size_t ValidUtf8Prefix(std::string_view text) {
  size_t pos = 0;
  while (pos < text.size()) {
    if (pos + 8 <= text.size()) {
      uint64_t word = 0;
      std::memcpy(&word, text.data() + pos, 8);
      if ((word & 0x8080808080808080U) == 0) {
        pos += 8;
        continue;
      }
    }
    const Utf8Step step = DecodeUtf8(text, pos);
    if (step.kind != Utf8Step::Kind::kValid) break;
    pos += step.length;
  }
  return pos;
}

void AppendUtf8(char32_t code_point, std::string& out) {
  if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000))
    code_point = kReplacementCharacter;
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code_point >> shift) & 0x3F)); };
  if (code_point < 0x80) {
    out += static_cast<char>(code_point);
  } else if (code_point < 0x800) {
    out += static_cast<char>(0xC0 | (code_point >> 6));
    tail(0);
  } else if (code_point < 0x10000) {
    out += static_cast<char>(0xE0 | (code_point >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code_point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

void DrainUtf8(std::string& pending, std::string& out) {
  std::string_view rest = pending;
  while (true) {
    const size_t valid = ValidUtf8Prefix(rest);
    out.append(rest.substr(0, valid));
    rest.remove_prefix(valid);
    const Utf8Step step = DecodeUtf8(rest, 0);
    if (step.kind == Utf8Step::Kind::kIncomplete) break;
    AppendUtf8(kReplacementCharacter, out);
    rest.remove_prefix(step.length);
  }
  pending.erase(0, pending.size() - rest.size());
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  std::string pending(text);
  DrainUtf8(pending, out);
  if (!pending.empty()) AppendUtf8(kReplacementCharacter, out);
  return out;
}

}  // namespace saccade
