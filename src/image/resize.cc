#include "image/resize.h"

#include <cstring>

#include "base/check.h"

namespace saccade {

RowResizer::RowResizer(const RgbImage& image, Size size, const PixelKernels& kernels)
    : kernels_(kernels), image_(image), size_(size) {
  SACCADE_CHECK(size.width > 0 && size.height > 0 && image.width > 0 && image.height > 0);
  SACCADE_CHECK(image.pixels.size() == image.row_bytes() * static_cast<size_t>(image.height));
  const bool x_changes = size.width != image.width, y_changes = size.height != image.height;
  if (x_changes) {
    along_x_ = MakeAxisFilter(image.width, size.width);
    padded_.resize(image.row_bytes() + kFilterRowPadding);
  }
  if (!y_changes) return;
  along_y_ = MakeAxisFilter(image.height, size.height);
  window_.resize(static_cast<size_t>(along_y_.max_count()));
  if (x_changes) ring_.resize(window_.size() * 3 * static_cast<size_t>(size.width));
}

void RowResizer::NextRow(uint8_t* out) {
  SACCADE_DCHECK(next_output_ < size_.height);
  const int y = next_output_++;
  const size_t row_bytes = size_t{3} * static_cast<size_t>(size_.width);
  if (!window_.empty()) {
    const size_t i = static_cast<size_t>(y);
    const int count = along_y_.count[i];
    for (int k = 0; k < count; ++k) window_[static_cast<size_t>(k)] = FilteredRow(along_y_.first[i] + k);
    kernels_.blend_rows(window_.data(), along_y_.WeightsOf(y), count, along_y_.precision, row_bytes, out);
  } else if (!along_x_.first.empty()) {
    FilterInto(y, out);
  } else {
    std::memcpy(out, Source(y), row_bytes);
  }
}

const uint8_t* RowResizer::Source(int y) const {
  return image_.pixels.data() + static_cast<size_t>(y) * image_.row_bytes();
}

// Source row `y` after the pass along x. The windows of successive outputs ascend, so each row is filtered
// once.
const uint8_t* RowResizer::FilteredRow(int y) {
  if (ring_.empty()) return Source(y);
  const size_t rows = window_.size(), row_bytes = ring_.size() / rows;
  const auto slot = [&](int row) { return ring_.data() + static_cast<size_t>(row) % rows * row_bytes; };
  for (; next_filtered_ <= y; ++next_filtered_) FilterInto(next_filtered_, slot(next_filtered_));
  return slot(y);
}

void RowResizer::FilterInto(int y, uint8_t* out) {
  const uint8_t* source = Source(y);
  const size_t end = static_cast<size_t>(y + 1) * image_.row_bytes();
  if (end + kFilterRowPadding > image_.pixels.size()) {
    std::memcpy(padded_.data(), source, image_.row_bytes());
    source = padded_.data();
  }
  kernels_.filter_row(source, along_x_.View(), out);
}

RgbImage ResizeBicubic(const RgbImage& image, Size size, const PixelKernels& kernels) {
  if (size == image.size()) return image;
  RgbImage out = {size.width, size.height, {}};
  out.pixels.resize(static_cast<size_t>(size.pixels()) * 3);
  RowResizer resizer(image, size, kernels);
  for (int y = 0; y < size.height; ++y)
    resizer.NextRow(out.pixels.data() + static_cast<size_t>(y) * out.row_bytes());
  return out;
}

}  // namespace saccade
