// Forms of pictures that the golden folder lacks, written by libvips at test time.
#include <cmath>
#include <cstdlib>

#include "base/status_testing.h"
#include "image/image_testing.h"
#include "image/pixel_layout.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::EncodeForTest;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Smooth in both axes, so that lossy formats stay close.
std::vector<uint8_t> Gradient(int width, int height, int bands) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < bands; ++c) pixels.push_back(static_cast<uint8_t>(20 + x * 2 + y + 30 * c));
    }
  }
  return pixels;
}

TEST(DecodeImage, SixteenBitAlphaIsNarrowedThenComposed) {
  std::vector<uint16_t> pixels;
  for (int i = 0; i < 40 * 30 * 4; ++i) pixels.push_back(static_cast<uint16_t>(i * 37));
  const std::string file = EncodeForTest(pixels, 40, 30, 4, ".png", 0, VIPS_INTERPRETATION_RGB16);
  SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
  for (size_t i = 0; i < 40 * 30; ++i) {
    const uint8_t alpha = NarrowSample(pixels[4 * i + 3]);
    for (size_t c = 0; c < 3; ++c) {
      ASSERT_EQ(image.pixels[3 * i + c], OverWhite(NarrowSample(pixels[4 * i + c]), alpha));
    }
  }
}

TEST(DecodeImage, InterlacedPng) {
  const std::vector<uint8_t> pixels = Gradient(61, 47, 3);
  const std::string file = EncodeForTest(pixels, 61, 47, 3, ".png[interlace]");
  SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
  EXPECT_GE(info.decode_bytes, 61 * 47 * (3 + 4));
  SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
  EXPECT_EQ(image.pixels, pixels);
}

TEST(DecodeImage, AppliesTheOrientationOfEveryKindThatHasOne) {
  const std::vector<uint8_t> pixels = Gradient(40, 24, 3);
  for (const char* suffix : {".png", ".tiff[compression=lzw]", ".webp[lossless]"}) {
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const std::string file = EncodeForTest(pixels, 40, 24, 3, suffix, orientation);
      SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
      EXPECT_EQ(info.orientation, orientation) << suffix;
      EXPECT_EQ((Size{info.width, info.height}), (Size{40, 24}));
      SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
      EXPECT_EQ(image.size(), orientation < 5 ? (Size{40, 24}) : (Size{24, 40}));
      // The stored corner's place: top left, top right, bottom right, bottom left, then the same transposed.
      const int w = image.width, h = image.height;
      const int corners[] = {0, w - 1, h * w - 1, (h - 1) * w, 0, w - 1, h * w - 1, (h - 1) * w};
      const size_t at = 3 * static_cast<size_t>(corners[orientation - 1]);
      EXPECT_EQ(image.pixels[at], pixels[0]) << suffix << orientation;
      EXPECT_EQ(image.pixels[at + 1], pixels[1]) << suffix << orientation;
    }
  }
}

// tests/data/image/gradient.*: Gradient(64, 48, 3), written by vips_heifsave with Q = 90.
TEST(DecodeImage, HeicAndAvif) {
  const std::vector<uint8_t> pixels = Gradient(64, 48, 3);
  for (const auto& [name, kind] :
       {std::pair{"gradient.heic", ImageKind::kHeic}, {"gradient.avif", ImageKind::kAvif}}) {
    const auto path = std::filesystem::path(SACCADE_TEST_DATA) / "data/image" / name;
    SACCADE_ASSERT_OK_AND_ASSIGN(const std::string file, ReadFile(path, 1 << 20));
    SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
    EXPECT_EQ(info.kind, kind);
    SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
    ASSERT_EQ(image.size(), (Size{64, 48}));
    double error = 0;
    for (size_t i = 0; i < pixels.size(); ++i) error += std::abs(image.pixels[i] - pixels[i]);
    EXPECT_LT(error / static_cast<double>(pixels.size()), 4.0) << name;
    EXPECT_FALSE(DecodeImage(Bytes(file.substr(0, file.size() - 40))).ok()) << name;
  }
}

TEST(DecodeImage, CmykWithAProfileGoesThroughIt) {
  // Half of every ink, in a TIFF that carries libvips' own CMYK profile.
  const std::vector<uint8_t> ink(32 * 32 * 4, 128);
  const std::string plain = EncodeForTest(ink, 32, 32, 4, ".tiff", 0, VIPS_INTERPRETATION_CMYK);
  const std::string tagged =
      EncodeForTest(ink, 32, 32, 4, ".tiff[profile=cmyk]", 0, VIPS_INTERPRETATION_CMYK);
  SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage naive, DecodeImage(Bytes(plain)));
  EXPECT_EQ(naive.pixels[0], 63);  // 127 * 127 / 255
  if (tagged.empty()) GTEST_SKIP() << "this libvips has no CMYK profile";
  SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage managed, DecodeImage(Bytes(tagged)));
  EXPECT_NE(managed.pixels, naive.pixels);
  EXPECT_NEAR(managed.pixels[0], naive.pixels[0], 40);
}

TEST(DecodeImage, LabTiffBecomesRgb) {
  std::vector<float> lab;
  for (int i = 0; i < 16 * 16; ++i) lab.insert(lab.end(), {53.24f, 80.09f, 67.2f});  // sRGB red
  const std::string file = EncodeForTest(lab, 16, 16, 3, ".tiff", 0, VIPS_INTERPRETATION_LAB);
  SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
  EXPECT_NEAR(image.pixels[0], 255, 3);
  EXPECT_NEAR(image.pixels[1], 0, 4);
  EXPECT_NEAR(image.pixels[2], 0, 4);
}

TEST(DecodeImage, RefusesSamplesNoPictureForPeopleHas) {
  const std::string floats =
      EncodeForTest(std::vector<float>(256, 0.5f), 16, 16, 1, ".tiff", 0, VIPS_INTERPRETATION_B_W);
  EXPECT_THAT(DecodeImage(Bytes(floats)), FailsWith(StatusCode::kUnsupported, HasSubstr("float samples")));
  const std::string bands = EncodeForTest(std::vector<uint8_t>(16 * 16 * 20), 16, 16, 20, ".tiff", 0,
                                          VIPS_INTERPRETATION_MULTIBAND);
  EXPECT_THAT(DecodeImage(Bytes(bands)), FailsWith(StatusCode::kUnsupported, HasSubstr("20 channels")));
}

TEST(DecodeImage, FirstPageOfATiffAndFirstFrameOfAnAnimation) {
  // A "toilet roll" of three pages of 8 rows.
  const std::vector<uint8_t> pixels = Gradient(16, 24, 3);
  for (const char* suffix : {".tiff[page-height=8]", ".tiff[bigtiff,page-height=8]",
                             ".webp[page-height=8,lossless]", ".gif[page-height=8]"}) {
    const std::string file = EncodeForTest(pixels, 16, 24, 3, suffix);
    if (file.empty()) continue;
    SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
    EXPECT_EQ(info.frames, 3) << suffix;
    SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
    EXPECT_EQ(image.size(), (Size{16, 8})) << suffix;
  }
  SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo gif, ProbeImage(Bytes(GoldenFile("images/gif_animated.gif"))));
  EXPECT_EQ(gif.frames, 3);
}

TEST(DecodeImage, RefusesABigOneColourPngFromItsHeader) {
  const int side = 12000;
  const std::string file = EncodeForTest(std::vector<uint8_t>(size_t{12000} * 12000), side, side, 1,
                                         ".png[compression=1,bitdepth=1]", 0, VIPS_INTERPRETATION_B_W);
  ASSERT_FALSE(file.empty());
  EXPECT_LT(file.size(), 1u << 20);
  const auto refusal =
      FailsWith(StatusCode::kInvalidArgument,
                AllOf(HasSubstr("12000x12000 = 144.0 megapixels"), HasSubstr("limit is 100.0")));
  EXPECT_THAT(ProbeImage(Bytes(file)), refusal);
  EXPECT_THAT(DecodeImage(Bytes(file)), refusal);
}

TEST(DecodeImage, EveryKindIsHeldToTheLimits) {
  for (const char* name :
       {"jpeg_420.jpg", "png_rgb.png", "webp_lossy.webp", "gif_animated.gif", "tiff_lzw.tiff", "bmp.bmp"}) {
    const std::string file = GoldenFile(std::string("images/") + name);
    SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
    const int64_t pixels = int64_t{info.width} * info.height;
    SACCADE_EXPECT_OK(DecodeImage(Bytes(file), {.max_pixels = pixels}));
    EXPECT_THAT(DecodeImage(Bytes(file), {.max_pixels = pixels - 1}),
                FailsWith(StatusCode::kInvalidArgument, HasSubstr("megapixels")))
        << name;
    EXPECT_THAT(DecodeImage(Bytes(file), {.max_memory_bytes = info.decode_bytes - 1}),
                FailsWith(StatusCode::kInvalidArgument, HasSubstr("decoding this")))
        << name;
    EXPECT_THAT(DecodeImage(Bytes(file), {.max_file_bytes = static_cast<int64_t>(file.size()) - 1}),
                FailsWith(StatusCode::kTooLarge, HasSubstr("bytes; the limit is")))
        << name;
  }
}

}  // namespace
}  // namespace saccade
