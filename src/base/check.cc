#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace saccade::internal {

// The only place that ends the process: reaching it means that the program itself is wrong.
void CheckFailed(std::string_view expression, std::string_view file, int line) {
  std::fprintf(stderr, "saccade bug: check failed: %.*s at %.*s:%d\n", static_cast<int>(expression.size()),
               expression.data(), static_cast<int>(file.size()), file.data(), line);
  std::abort();
}

}  // namespace saccade::internal
