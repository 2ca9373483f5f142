// A strict reader of uncompressed BMP files. libvips reads BMP only through ImageMagick, which is blocked.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "image/rgb_image.h"

namespace saccade {

// 1, 4 and 8 bits with palette, 16, 24 and 32 bits plain or with bit fields; bottom-up and top-down; headers
// of OS/2 1.x (12 bytes) and Windows (40 to 124 bytes). Run-length, JPEG and PNG payloads are refused. Alpha
// counts only where a bit field declares it, and only when some pixel is not fully transparent: many programs
// leave the fourth byte zero. It is composed over white.

// Size from the header, after the header, the palette and the room for all rows were checked.
Result<Size> ReadBmpSize(std::span<const std::byte> file);

// The upright picture. The caller has compared ReadBmpSize with its limits.
Result<RgbImage> DecodeBmp(std::span<const std::byte> file);

}  // namespace saccade
