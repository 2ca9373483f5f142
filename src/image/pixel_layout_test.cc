#include "image/pixel_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

namespace saccade {
namespace {

using ::testing::ElementsAre;

TEST(NarrowSample, RoundsToNearestOf257ths) {
  for (int v = 0; v <= 65535; ++v) {
    ASSERT_EQ(NarrowSample(static_cast<uint16_t>(v)), static_cast<int>(std::floor(v / 257.0 + 0.5))) << v;
  }
}

// Within half a unit of the exact blend plus the reference's own rounding of its coefficients.
TEST(OverWhite, BlendsExactlyEnoughForEveryValueAndAlpha) {
  for (int value = 0; value < 256; ++value) {
    for (int alpha = 0; alpha < 256; ++alpha) {
      const double exact = (value * alpha + 255.0 * (255 - alpha)) / 255.0;
      const int got = OverWhite(static_cast<uint8_t>(value), static_cast<uint8_t>(alpha));
      ASSERT_LE(std::abs(got - exact), 0.51) << value << " " << alpha;
    }
  }
  EXPECT_EQ(OverWhite(17, 255), 17);
  EXPECT_EQ(OverWhite(17, 0), 255);
}

std::vector<int> Convert(const PixelLayout& layout, std::vector<int> samples) {
  std::vector<uint8_t> source;
  for (int sample : samples) {
    const auto wide = static_cast<uint16_t>(sample);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&wide);
    if (layout.sixteen_bit) {
      source.insert(source.end(), bytes, bytes + 2);
    } else {
      source.push_back(static_cast<uint8_t>(sample));
    }
  }
  const int width = static_cast<int>(samples.size()) / layout.samples;
  std::vector<uint8_t> rgb(static_cast<size_t>(width) * 3);
  ConvertRowToRgb(source.data(), layout, width, rgb.data());
  return {rgb.begin(), rgb.end()};
}

TEST(ConvertRowToRgb, GreyAndAlpha) {
  EXPECT_THAT(Convert({.model = ColourModel::kGray, .samples = 1}, {7, 255}),
              ElementsAre(7, 7, 7, 255, 255, 255));
  EXPECT_THAT(Convert({.model = ColourModel::kGray, .samples = 2, .alpha = true}, {7, 255, 7, 0, 0, 128}),
              ElementsAre(7, 7, 7, 255, 255, 255, 127, 127, 127));
}

TEST(ConvertRowToRgb, RgbWithAlphaAndSurplusSamples) {
  EXPECT_THAT(Convert({.samples = 3}, {1, 2, 3}), ElementsAre(1, 2, 3));
  EXPECT_THAT(Convert({.samples = 4, .alpha = true}, {1, 2, 3, 255, 1, 2, 3, 0}),
              ElementsAre(1, 2, 3, 255, 255, 255));
  EXPECT_THAT(Convert({.samples = 5, .alpha = true}, {1, 2, 3, 255, 99}), ElementsAre(1, 2, 3));
}

TEST(ConvertRowToRgb, SixteenBits) {
  EXPECT_THAT(Convert({.samples = 3, .sixteen_bit = true}, {0, 257 * 9, 65535}), ElementsAre(0, 9, 255));
  EXPECT_THAT(Convert({.samples = 4, .alpha = true, .sixteen_bit = true}, {0, 0, 0, 32896}),
              ElementsAre(127, 127, 127));
}

TEST(ConvertRowToRgb, CmykMultipliesOut) {
  const PixelLayout cmyk = {.model = ColourModel::kCmyk, .samples = 4};
  EXPECT_THAT(Convert(cmyk, {0, 0, 0, 0}), ElementsAre(255, 255, 255));
  EXPECT_THAT(Convert(cmyk, {0, 0, 0, 255}), ElementsAre(0, 0, 0));
  EXPECT_THAT(Convert(cmyk, {255, 0, 128, 55}), ElementsAre(0, 200, 100));
}

}  // namespace
}  // namespace saccade
