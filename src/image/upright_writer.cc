#include "image/upright_writer.h"

#include <utility>

#include "base/check.h"

namespace saccade {
namespace {

// Where stored pixel (x, y) goes: origin + x * step_x + y * step_y, in pixels of the upright picture.
struct Placement {
  int64_t origin, step_x, step_y;
};

Placement PlacementOf(Size stored, int orientation) {
  const int64_t w = stored.width, h = stored.height;
  switch (orientation) {
    case 2:
      return {w - 1, -1, w};  // mirrored left to right
    case 3:
      return {h * w - 1, -1, -w};  // upside down
    case 4:
      return {(h - 1) * w, 1, -w};  // mirrored top to bottom
    case 5:
      return {0, h, 1};  // mirrored along the main diagonal
    case 6:
      return {h - 1, h, -1};  // to be turned 90 degrees clockwise
    case 7:
      return {(w - 1) * h + h - 1, -h, -1};  // mirrored along the other diagonal
    case 8:
      return {(w - 1) * h, -h, 1};  // to be turned 90 degrees counter-clockwise
    default:
      return {0, 1, w};
  }
}

}  // namespace

UprightWriter::UprightWriter(Size stored, int orientation) : stored_(stored), orientation_(orientation) {
  const Size upright = UprightSize(stored, orientation);
  image_.width = upright.width;
  image_.height = upright.height;
  image_.pixels.resize(static_cast<size_t>(upright.pixels()) * 3);
}

void UprightWriter::WriteRows(int first_row, int rows, const uint8_t* data, size_t stride_bytes,
                              const PixelLayout& layout) {
  SACCADE_CHECK(first_row >= 0 && rows >= 0 && first_row + rows <= stored_.height);
  const size_t row_bytes = size_t{3} * static_cast<size_t>(stored_.width);
  const bool in_place = orientation_ < 2 || orientation_ > 8;
  if (!in_place) strip_.resize(row_bytes * static_cast<size_t>(rows));
  uint8_t* target =
      in_place ? image_.pixels.data() + row_bytes * static_cast<size_t>(first_row) : strip_.data();
  for (int row = 0; row < rows; ++row) {
    ConvertRowToRgb(data + stride_bytes * static_cast<size_t>(row), layout, stored_.width, target);
    target += row_bytes;
  }
  if (!in_place) Scatter(first_row, rows);
}

void UprightWriter::Scatter(int first_row, int rows) {
  const Placement place = PlacementOf(stored_, orientation_);
  const uint8_t* strip = strip_.data();
  const int64_t row_bytes = int64_t{3} * stored_.width;
  // The inner loop runs along the upright row, whichever stored axis that is.
  const bool swapped = SwapsAxes(orientation_);
  const int64_t inner_count = swapped ? rows : stored_.width, outer_count = swapped ? stored_.width : rows;
  const int64_t inner_read = swapped ? row_bytes : 3, outer_read = swapped ? 3 : row_bytes;
  const int64_t inner_write = 3 * (swapped ? place.step_y : place.step_x);
  const int64_t outer_write = 3 * (swapped ? place.step_x : place.step_y);
  int64_t write_at = 3 * (place.origin + place.step_y * first_row);
  for (int64_t outer = 0; outer < outer_count; ++outer, write_at += outer_write) {
    const uint8_t* from = strip + outer * outer_read;
    uint8_t* to = image_.pixels.data() + write_at;
    for (int64_t inner = 0; inner < inner_count; ++inner, from += inner_read) {
      uint8_t* pixel = to + inner * inner_write;
      pixel[0] = from[0];
      pixel[1] = from[1];
      pixel[2] = from[2];
    }
  }
}

}  // namespace saccade
