// Puts rows of a stored picture where they belong in the upright one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/pixel_layout.h"
#include "image/rgb_image.h"

namespace saccade {

// EXIF orientations 5 to 8 swap the axes.
constexpr bool SwapsAxes(int orientation) { return orientation >= 5 && orientation <= 8; }
constexpr Size UprightSize(Size stored, int orientation) {
  return SwapsAxes(orientation) ? Size{stored.height, stored.width} : stored;
}

// Turns pixels while they are written, so that no second copy of the picture ever exists. Thread-compatible.
class UprightWriter {
 public:
  // `orientation` is the EXIF value 1..8; anything else counts as 1. Allocates the whole upright picture.
  UprightWriter(Size stored, int orientation);

  // Stored rows [first_row, first_row + rows), in any order of calls. Strips of 16 rows or more keep the
  // writes of a picture that is turned by 90 degrees within whole cache lines.
  void WriteRows(int first_row, int rows, const uint8_t* data, size_t stride_bytes,
                 const PixelLayout& layout);

  // The picture; call once, after all rows were written.
  RgbImage Take() { return std::move(image_); }

 private:
  void Scatter(int first_row, int rows);

  Size stored_;
  int orientation_;
  RgbImage image_;
  std::vector<uint8_t> strip_;  // converted rows on their way to Scatter
};

}  // namespace saccade
