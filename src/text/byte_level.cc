#include "text/byte_level.h"

#include <array>

#include "base/utf8.h"

namespace saccade {
namespace {

constexpr bool StandsForItself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

// 256 bytes, 68 of which are spelled from U+0100 on.
constexpr size_t kCharacters = 256 + 68;
constexpr int16_t kNoByte = -1;

struct Alphabet {
  std::array<int16_t, kCharacters> byte_of_character{};
  std::array<uint16_t, 256> character_of_byte{};
};

constexpr Alphabet MakeAlphabet() {
  Alphabet alphabet;
  alphabet.byte_of_character.fill(kNoByte);
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const unsigned character = StandsForItself(byte) ? byte : next++;
    alphabet.byte_of_character[character] = static_cast<int16_t>(byte);
    alphabet.character_of_byte[byte] = static_cast<uint16_t>(character);
  }
  return alphabet;
}
constexpr Alphabet kAlphabet = MakeAlphabet();

}  // namespace

bool AppendSpelledBytes(std::string_view spelling, std::string& out) {
  const size_t start = out.size();
  for (size_t pos = 0; pos < spelling.size();) {
    const Utf8Step step = DecodeUtf8(spelling, pos);
    const int16_t byte =
        step.code_point < kCharacters ? kAlphabet.byte_of_character[step.code_point] : kNoByte;
    if (byte == kNoByte) {
      out.resize(start);
      out.append(spelling);
      return false;
    }
    out += static_cast<char>(byte);
    pos += step.length;
  }
  return true;
}

std::string SpellByte(uint8_t byte) {
  std::string text;
  AppendUtf8(kAlphabet.character_of_byte[byte], text);
  return text;
}

}  // namespace saccade
