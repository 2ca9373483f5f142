// The antialiased bicubic resize of the reference processor, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "image/pixel_kernels.h"
#include "image/resize_filter.h"
#include "image/rgb_image.h"

namespace saccade {

// Yields the rows of the resized picture from top to bottom, so that no copy of it need exist. Equal to
// torchvision's resize(antialias=True, BICUBIC) of an 8-bit tensor: along x first, then along y, each rounded
// and clamped to 8 bits; an axis that keeps its size is left alone. Thread-compatible.
class RowResizer {
 public:
  // Both sizes at least 1x1. `image` must outlive the resizer.
  RowResizer(const RgbImage& image, Size size, const PixelKernels& kernels = BestPixelKernels());

  // Writes 3 * size.width bytes; call at most size.height times.
  void NextRow(uint8_t* out);

 private:
  const uint8_t* Source(int y) const;
  const uint8_t* FilteredRow(int y);
  void FilterInto(int y, uint8_t* out);

  const PixelKernels& kernels_;
  const RgbImage& image_;
  const Size size_;
  AxisFilter along_x_, along_y_;  // empty for an axis that keeps its size
  std::vector<uint8_t> ring_;     // the last rows after the pass along x, as many as one output row needs
  std::vector<uint8_t> padded_;   // a source row too close to the end of the picture for the kernels
  std::vector<const uint8_t*> window_;
  int next_output_ = 0, next_filtered_ = 0;
};

// The whole picture at once. Thread-safe.
RgbImage ResizeBicubic(const RgbImage& image, Size size, const PixelKernels& kernels = BestPixelKernels());

}  // namespace saccade
