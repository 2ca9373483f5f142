// Bodies of type multipart/form-data (RFC 7578), as browsers and curl -F send them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

// Views into the body.
struct FormPart {
  std::string name, filename;  // empty filename: a plain field
  std::string content_type;    // of the part; may be empty
  std::string_view bytes;
};

bool IsMultipart(std::string_view content_type);

// kInvalidArgument when the body is not what its header says, kTooLarge over `max_parts`.
Result<std::vector<FormPart>> ParseMultipart(std::string_view content_type, std::string_view body,
                                             size_t max_parts);

}  // namespace saccade
