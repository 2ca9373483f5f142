// Unicode normalisation of text before it is tokenised.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace saccade {

enum class Normalization : uint8_t { kNone, kNfc };

// Reads "normalizer" of tokenizer.json: null, NFC, or a Sequence of these; anything else is kUnsupported.
Result<Normalization> ParseNormalizer(const Json& description);

// A quick test that is never wrong when it says true; false means "normalise to find out".
bool IsSurelyNfc(std::string_view valid_utf8);

// Canonical composition (NFC) as the reference does it, that is by Unicode 9: the 108 combining marks that
// came later are not reordered. O(n log n) whatever the text is; utf8proc_map alone needs quadratic time for
// a long run of combining marks in the wrong order.
std::string ToNfc(std::string_view valid_utf8);

}  // namespace saccade
