#include "image/upright_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

namespace saccade {
namespace {

// Where each stored pixel must appear, from the EXIF standard: orientation says which side of the scene
// stored row 0 and stored column 0 are (1: top left, 2: top right, 3: bottom right, 4: bottom left, 5: left
// top, 6: right top, 7: right bottom, 8: left bottom).
std::pair<int, int> UprightPosition(int x, int y, Size stored, int orientation) {
  const int right = stored.width - 1 - x, bottom = stored.height - 1 - y;
  switch (orientation) {
    case 2:
      return {right, y};
    case 3:
      return {right, bottom};
    case 4:
      return {x, bottom};
    case 5:
      return {y, x};
    case 6:
      return {bottom, x};
    case 7:
      return {bottom, right};
    case 8:
      return {y, right};
    default:
      return {x, y};
  }
}

TEST(UprightWriter, PlacesPixelsForEveryOrientation) {
  const Size stored = {5, 7};
  std::vector<uint8_t> pixels(5 * 7 * 3);
  std::iota(pixels.begin(), pixels.end(), uint8_t{1});
  for (int orientation = 0; orientation <= 9; ++orientation) {
    UprightWriter writer(stored, orientation);
    // In strips of uneven height.
    for (int row = 0, rows = 1; row < stored.height; row += rows, rows = 3) {
      writer.WriteRows(row, rows, pixels.data() + 15 * row, 15, PixelLayout{});
    }
    const RgbImage image = writer.Take();
    ASSERT_EQ(image.size(), UprightSize(stored, orientation));
    for (int y = 0; y < stored.height; ++y) {
      for (int x = 0; x < stored.width; ++x) {
        const auto [to_x, to_y] = UprightPosition(x, y, stored, orientation);
        EXPECT_EQ(std::memcmp(&pixels[static_cast<size_t>((y * 5 + x) * 3)],
                              &image.pixels[static_cast<size_t>((to_y * image.width + to_x) * 3)], 3),
                  0)
            << "orientation " << orientation << " pixel " << x << "," << y;
      }
    }
  }
}

}  // namespace
}  // namespace saccade
