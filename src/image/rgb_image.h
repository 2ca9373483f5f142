// The plain value types the image layer passes around.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace saccade {

// Width and height in pixels, in that order everywhere in this layer.
struct Size {
  int width = 0, height = 0;
  int64_t pixels() const { return int64_t{width} * height; }
  bool operator==(const Size&) const = default;
};

// An upright 8-bit RGB picture. `pixels`: [height, width, 3], rows tightly packed.
struct RgbImage {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;

  Size size() const { return {width, height}; }
  size_t row_bytes() const { return size_t{3} * static_cast<size_t>(width); }
};

}  // namespace saccade
