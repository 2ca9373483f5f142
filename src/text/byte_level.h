// The spelling of bytes in byte-level vocabularies: printable Latin-1 characters stand for themselves, the
// other bytes for U+0100 and up, so that a vocabulary file needs neither spaces nor control characters.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace saccade {

// Appends the bytes that `spelling` (UTF-8) stands for. A spelling with a character outside the alphabet
// stands for its own UTF-8 bytes, as the reference decoder has it; then the result is false.
bool AppendSpelledBytes(std::string_view spelling, std::string& out);

// The character that stands for one byte, as UTF-8.
std::string SpellByte(uint8_t byte);

}  // namespace saccade
