#include "image/decode.h"

#include <vips/vips.h>

#include <array>
#include <cmath>
#include <cstdlib>

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenJson;
using ::saccade::testing::GoldenNames;
using ::saccade::testing::HexOf;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class GoldenPictures : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenPictures, DecodesToTheReferencePixels) {
  const Json expected = GoldenJson("decoded_images.json").at(GetParam());
  const std::string file = GoldenFile("images/" + GetParam());
  SACCADE_ASSERT_OK_AND_ASSIGN(const RgbImage image, DecodeImage(Bytes(file)));
  EXPECT_EQ(image.width, expected.at("width"));
  EXPECT_EQ(image.height, expected.at("height"));
  EXPECT_EQ(HexOf(image.pixels), expected.at("sha256_rgb"));
}

std::vector<std::string> PictureNames() { return GoldenNames("images"); }

std::string TestName(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenPictures, ::testing::ValuesIn(PictureNames()), TestName);

TEST(DecodeImage, RefusesBadFilesWithAReason) {
  const std::map<std::string, std::string> reasons = {
      {"empty.jpg", "the picture is empty"},
      {"truncated.jpg", "the JPEG picture is damaged or cut short"},
      {"header_only.jpg", "the JPEG picture is damaged or cut short"},
      {"corrupt_chunk.png", "the PNG picture is damaged or cut short"},
      {"decompression_bomb.png", "60000x60000 = 3600.0 megapixels; the limit is 100.0 megapixels"},
      {"not_an_image.jpg", "this is an HTML page; accepted are JPEG"},
      {"text.txt", "this is text; accepted are JPEG"},
      {"svg.svg", "this is an SVG drawing; accepted are JPEG"},
      {"zero_size.bmp", "the BMP picture is damaged"},
  };
  for (const std::string& name : GoldenNames("bad_images")) {
    const auto reason = reasons.find(name);
    ASSERT_NE(reason, reasons.end()) << name;
    const std::string file = GoldenFile("bad_images/" + name);
    EXPECT_THAT(DecodeImage(Bytes(file)), FailsWith(StatusCode::kInvalidArgument, HasSubstr(reason->second)))
        << name;
  }
}

TEST(DecodeImage, QuotesTheDecoderOnTheDamage) {
  EXPECT_THAT(DecodeImage(Bytes(GoldenFile("bad_images/corrupt_chunk.png"))),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("(bad adaptive filter value)")));
  EXPECT_THAT(DecodeImage(Bytes(GoldenFile("bad_images/truncated.jpg"))),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("premature end of input file")));
}

}  // namespace
}  // namespace saccade
