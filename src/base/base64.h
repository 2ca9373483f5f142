// Base64 as clients send pictures and as pages embed them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

// Decodes the standard (+ /) and the URL-safe (- _) alphabet, mixed if need be, with ASCII whitespace
// anywhere and with or without padding at the end. Anything else is kInvalidArgument with the position of the
// byte: other characters, characters after padding, padding that does not fill a group of four, one left-over
// character.
Result<std::vector<std::byte>> DecodeBase64(std::string_view text);

// Upper bound of the decoded size, for limits checked before decoding.
inline size_t Base64DecodedBound(size_t text_bytes) { return text_bytes / 4 * 3 + 3; }

// Standard alphabet, padded, one line.
std::string EncodeBase64(std::span<const std::byte> bytes);

}  // namespace saccade
