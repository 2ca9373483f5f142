// Files compiled into the binary by cmake/SaccadeAssets.cmake.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace saccade {

struct EmbeddedFile {
  std::string_view name;   // path inside the repository, such as "web/app.js" or "examples/chart.png"
  std::string_view bytes;  // as long as the process lives
};

std::vector<EmbeddedFile> EmbeddedFiles();

}  // namespace saccade
