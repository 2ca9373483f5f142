// The regular expressions of tokenizer.json are written for Oniguruma; PCRE2 reads a few things differently.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace saccade {

// `pattern` such that PCRE2 (UTF, UCP) matches what the reference engine matches:
//   \s \S    White_Space; PCRE2 adds U+180E
//   \p{L}    includes the letters of Unicode 16 whatever edition this PCRE2 was built with; \p{N} likewise
// kUnsupported for syntax that means something else in PCRE2 or is not needed by any published pattern: other
// escapes of letters (\w, \b, \h, ...), set intersection, nested and POSIX classes.
Result<std::string> TranslatePattern(std::string_view pattern);

}  // namespace saccade
