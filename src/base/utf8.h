// UTF-8 as the Unicode standard defines it: no surrogates, no overlong forms, nothing above U+10FFFF.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace saccade {

inline constexpr char32_t kReplacementCharacter = 0xFFFD;

// What stands at one place of a text.
struct Utf8Step {
  enum class Kind : uint8_t {
    kValid,       // a whole code point
    kInvalid,     // `length` bytes that cannot be part of one: the "maximal subpart" that becomes one U+FFFD
    kIncomplete,  // the text ends inside a sequence that more bytes could still complete
  };
  Kind kind = Kind::kIncomplete;
  uint8_t length = 0;                           // bytes, 1 to 4; 0 only at the end of the text
  char32_t code_point = kReplacementCharacter;  // U+FFFD unless kValid
};

// Reads the sequence that starts at `text[pos]`.
Utf8Step DecodeUtf8(std::string_view text, size_t pos);

// Length of the longest prefix that is valid as it stands.
size_t ValidUtf8Prefix(std::string_view text);
inline bool IsValidUtf8(std::string_view text) { return ValidUtf8Prefix(text) == text.size(); }

// Appends the encoding of `code_point`; surrogates and values above U+10FFFF become U+FFFD.
void AppendUtf8(char32_t code_point, std::string& out);

// A copy in which every maximal invalid subpart, an unfinished sequence at the end included, is one U+FFFD:
// what Rust's from_utf8_lossy and Python's errors="replace" produce.
std::string ReplaceInvalidUtf8(std::string_view text);

// The same for a stream: appends to `out` all of `pending` that is decided and leaves an unfinished sequence
// (at most three bytes) in it.
void DrainUtf8(std::string& pending, std::string& out);

}  // namespace saccade
