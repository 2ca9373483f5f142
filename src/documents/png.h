// RGB pixels to a PNG file in memory.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"

namespace saccade {

// Compressed quickly rather than well. rgb: [height, row_bytes], 3 bytes a pixel.
Result<std::vector<std::byte>> EncodePng(const void* rgb, int width, int height, int row_bytes);

}  // namespace saccade
