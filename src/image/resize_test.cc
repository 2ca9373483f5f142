#include "image/resize.h"

#include <cmath>
#include <random>

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenJson;
using ::saccade::testing::HexOf;
using ::saccade::testing::TinyConfig;
using ::saccade::testing::UsablePixelKernels;

RgbImage Noise(Size size, uint32_t seed) {
  RgbImage image = {size.width, size.height, {}};
  image.pixels.resize(static_cast<size_t>(size.pixels()) * 3);
  std::mt19937 random(seed);
  // Full black and white as often as anything else: overshoot at edges must clamp, not wrap.
  for (uint8_t& value : image.pixels) {
    const uint32_t draw = random();
    value = static_cast<uint8_t>(draw % 3 == 0 ? 0 : draw % 3 == 1 ? 255 : draw >> 24);
  }
  return image;
}

// The resize as one reads it in a book: whole intermediate picture, one pixel at a time.
RgbImage ResizeAxis(const RgbImage& image, Size size, bool along_x) {
  const AxisFilter filter =
      along_x ? MakeAxisFilter(image.width, size.width) : MakeAxisFilter(image.height, size.height);
  RgbImage out = {size.width, size.height, {}};
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const size_t i = static_cast<size_t>(along_x ? x : y);
      for (int c = 0; c < 3; ++c) {
        int64_t sum = int64_t{1} << (filter.precision - 1);
        for (int k = 0; k < filter.count[i]; ++k) {
          const int tap = filter.first[i] + k;
          const int from_x = along_x ? tap : x, from_y = along_x ? y : tap;
          const size_t at =
              (static_cast<size_t>(from_y) * static_cast<size_t>(image.width) + static_cast<size_t>(from_x)) *
                  3 +
              static_cast<size_t>(c);
          sum += int64_t{filter.weights[i * static_cast<size_t>(filter.stride) + static_cast<size_t>(k)]} *
                 image.pixels[at];
        }
        out.pixels.push_back(static_cast<uint8_t>(std::clamp<int64_t>(sum >> filter.precision, 0, 255)));
      }
    }
  }
  return out;
}

RgbImage ResizeByTheBook(RgbImage image, Size size) {
  if (size.width != image.width) image = ResizeAxis(image, {size.width, image.height}, true);
  if (size.height != image.height) image = ResizeAxis(image, size, false);
  return image;
}

class GoldenResizes : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenResizes, EqualTheReferencePixels) {
  const PreprocessorConfig config = TinyConfig(GetParam());
  const Json expected = GoldenJson(GetParam() + "/resized_images.json");
  ASSERT_GE(expected.size(), 31u);
  for (const auto& [name, entry] : expected.items()) {
    const std::string file = GoldenFile("images/" + name);
    SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
    const Result<Size> size = SmartResize(image.size(), config.factor(), config.limits);
    EXPECT_EQ(size.ok(), !entry.contains("error")) << name;
    if (!size.ok()) continue;
    EXPECT_EQ(size->height / config.patch_size, entry.at("grid_thw")[1]) << name;
    EXPECT_EQ(size->width / config.patch_size, entry.at("grid_thw")[2]) << name;
    EXPECT_EQ(ImageTokens(*size, config), entry.at("tokens")) << name;
    for (const PixelKernels* kernels : UsablePixelKernels()) {
      EXPECT_EQ(HexOf(ResizeBicubic(image, *size, *kernels).pixels), entry.at("sha256_rgb")) << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, GoldenResizes, ::testing::Values("tiny-dense", "tiny-untied"),
                         [](const auto& info) { return info.param == "tiny-dense" ? "dense" : "untied"; });

TEST(ResizeBicubic, EveryKernelEqualsTheBook) {
  const Size sizes[] = {{1, 1},   {2, 1},   {1, 7},   {3, 3},  {5, 4},  {10, 11},
                        {11, 33}, {32, 32}, {33, 17}, {64, 1}, {100, 9}};
  uint32_t seed = 1;
  for (Size from : sizes) {
    const RgbImage image = Noise(from, seed++);
    for (Size to : sizes) {
      const RgbImage expected = ResizeByTheBook(image, to);
      for (const PixelKernels* kernels : UsablePixelKernels()) {
        const RgbImage got = ResizeBicubic(image, to, *kernels);
        ASSERT_EQ(got.size(), to);
        ASSERT_EQ(got.pixels, expected.pixels) << from.width << "x" << from.height << " to " << to.width
                                               << "x" << to.height << ", kernels " << kernels->name;
      }
    }
  }
}

TEST(ResizeBicubic, StrongReductionAndEnlargement) {
  for (const auto& [from, to] : std::vector<std::pair<Size, Size>>{
           {{3000, 20}, {32, 32}}, {{20, 3000}, {32, 32}}, {{1, 1}, {256, 256}}, {{1000, 700}, {997, 701}}}) {
    const RgbImage image = Noise(from, 77);
    const RgbImage expected = ResizeByTheBook(image, to);
    for (const PixelKernels* kernels : UsablePixelKernels()) {
      EXPECT_EQ(ResizeBicubic(image, to, *kernels).pixels, expected.pixels);
    }
  }
}

TEST(ResizeBicubic, KeepsConstantPictures) {
  for (uint8_t value : {0, 1, 127, 254, 255}) {
    RgbImage image = {40, 30, std::vector<uint8_t>(40 * 30 * 3, value)};
    for (Size to : {Size{32, 32}, Size{7, 90}, Size{200, 3}}) {
      const RgbImage out = ResizeBicubic(image, to);
      EXPECT_TRUE(std::all_of(out.pixels.begin(), out.pixels.end(), [&](uint8_t v) { return v == value; }))
          << int{value};
    }
  }
}

TEST(MakeAxisFilter, WeightsSumToOneAndStayInside) {
  for (const auto& [in, out] :
       std::vector<std::pair<int, int>>{{1, 1}, {1, 300}, {300, 1}, {720, 704}, {65535, 32}}) {
    const AxisFilter filter = MakeAxisFilter(in, out);
    ASSERT_EQ(filter.View().outputs, out);
    EXPECT_EQ(filter.stride % 4, 0);
    for (size_t i = 0; i < filter.first.size(); ++i) {
      ASSERT_GE(filter.first[i], 0);
      ASSERT_GE(filter.count[i], 1);
      ASSERT_LE(filter.first[i] + filter.count[i], in);
      ASSERT_LE(filter.count[i], filter.stride);
      int64_t sum = 0;
      for (int k = 0; k < filter.count[i]; ++k) {
        sum += filter.weights[i * static_cast<size_t>(filter.stride) + static_cast<size_t>(k)];
      }
      // Each weight is off by half a unit at most.
      EXPECT_LE(std::abs(sum - (int64_t{1} << filter.precision)), filter.count[i] / 2 + 1);
    }
  }
}

}  // namespace
}  // namespace saccade
