// "1-3,8": the pages of a document that a request names.
#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

// 1-based page numbers in the order of `list`, each once; "5-" goes to the end, an empty list is all pages.
// kInvalidArgument (param "pages") for what is no such list and for pages beyond `total`. total >= 1.
Result<std::vector<int>> ParsePageList(std::string_view list, int total);

// The same without a document: only whether it can be read.
Status CheckPageList(std::string_view list);

}  // namespace saccade
