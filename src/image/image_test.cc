#include "image/image.h"

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenNames;
using ::saccade::testing::TinyConfig;
using ::testing::HasSubstr;

TEST(PreparePicture, ReportsWhatTheAnswerNeeds) {
  const std::string file = GoldenFile("images/jpeg_exif_6.jpg");  // stored 96x64, turned
  SACCADE_ASSERT_OK_AND_ASSIGN(const PreparedPicture picture,
                               PreparePicture(Bytes(file), PreprocessorConfig{}));
  EXPECT_EQ(picture.kind, ImageKind::kJpeg);
  EXPECT_EQ(picture.original, (Size{64, 96}));
  EXPECT_EQ(picture.grid.resized, (Size{224, 320}));
  EXPECT_EQ(picture.grid.grid_w, 14);
  EXPECT_EQ(picture.grid.grid_h, 20);
  EXPECT_EQ(picture.grid.patches.size(), 224u * 320 * 3);
  EXPECT_GT(picture.timings.decode_ms, 0);
  EXPECT_GT(picture.timings.resize_ms, 0);
}

TEST(PreparePicture, LimitsOfTheRequestReplaceThoseOfTheCheckpoint) {
  const std::string file = GoldenFile("images/square_448.jpg");
  const PreprocessorConfig config;
  SACCADE_ASSERT_OK_AND_ASSIGN(const PreparedPicture plain, PreparePicture(Bytes(file), config));
  EXPECT_EQ(plain.grid.resized, (Size{448, 448}));
  SACCADE_ASSERT_OK_AND_ASSIGN(const PreparedPicture small,
                               PreparePicture(Bytes(file), config, {}, PixelLimits{1024, 65536}));
  EXPECT_EQ(small.grid.resized, (Size{256, 256}));
  EXPECT_THAT(PreparePicture(Bytes(file), config, {}, PixelLimits{1, int64_t{1} << 50}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("max_pixels")));
}

TEST(PreparePicture, RefusesLongStripsFromTheHeader) {
  const std::string file = GoldenFile("images/too_thin_5x1200.png");
  EXPECT_THAT(PreparePicture(Bytes(file), PreprocessorConfig{}),
              FailsWith(StatusCode::kInvalidArgument,
                        HasSubstr("5x1200 pixels, an aspect ratio of 240.00; the limit is 200")));
}

// Cost before decoding equals cost after it, whatever the orientation.
TEST(PlannedSize, EqualsTheOutcomeForEveryPicture) {
  const PreprocessorConfig config = TinyConfig("tiny-dense");
  for (const std::string& name : GoldenNames("images")) {
    const std::string file = GoldenFile("images/" + name);
    SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
    const Result<Size> planned = PlannedSize(info, config);
    const Result<PreparedPicture> picture = PreparePicture(Bytes(file), config);
    ASSERT_EQ(planned.ok(), picture.ok()) << name;
    if (!planned.ok()) continue;
    EXPECT_EQ(*planned, picture->grid.resized) << name;
    EXPECT_EQ(ImageTokens(*planned, config), picture->grid.patch_count() / 4) << name;
    EXPECT_EQ(UprightSizeOf(info), picture->original) << name;
  }
}

TEST(ImageTokens, CommonSizesOfThePublishedModel) {
  const PreprocessorConfig config;
  const std::vector<std::pair<Size, int64_t>> expected = {{{1280, 720}, 880},
                                                          {{1920, 1080}, 2040},
                                                          {{3840, 2160}, 8160},
                                                          {{2480, 3508}, 8580},
                                                          {{3024, 4032}, 11844}};
  for (const auto& [size, tokens] : expected) {
    ImageInfo info;
    info.width = size.width;
    info.height = size.height;
    SACCADE_ASSERT_OK_AND_ASSIGN(const Size resized, PlannedSize(info, config));
    EXPECT_EQ(ImageTokens(resized, config), tokens) << size.width;
  }
}

}  // namespace
}  // namespace saccade
