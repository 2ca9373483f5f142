#include "image/sniff.h"

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using namespace std::string_literals;
using ::saccade::testing::Bytes;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenNames;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(SniffImage, GoesByContentNotByName) {
  const std::map<std::string, ImageKind> kinds = {{".jpg", ImageKind::kJpeg},  {".png", ImageKind::kPng},
                                                  {".webp", ImageKind::kWebp}, {".gif", ImageKind::kGif},
                                                  {".tiff", ImageKind::kTiff}, {".bmp", ImageKind::kBmp}};
  for (const std::string& name : GoldenNames("images")) {
    SACCADE_ASSERT_OK_AND_ASSIGN(const ImageKind kind, SniffImage(Bytes(GoldenFile("images/" + name))));
    EXPECT_EQ(kind, kinds.at(name.substr(name.rfind('.')))) << name;
  }
}

TEST(SniffImage, RecognisesIsoMediaBrands) {
  const auto box = [](const std::string& brands) { return "\0\0\0\x1c"s + "ftyp" + brands + "\0\0\0\0"s; };
  EXPECT_EQ(*SniffImage(Bytes(box("heic"))), ImageKind::kHeic);
  EXPECT_EQ(*SniffImage(Bytes(box("avif"))), ImageKind::kAvif);
  EXPECT_EQ(*SniffImage(Bytes(box("mif1") + "mif1heic"s)), ImageKind::kHeic);
  EXPECT_EQ(*SniffImage(Bytes(box("mif1") + "mif1avif"s)), ImageKind::kAvif);
  EXPECT_THAT(SniffImage(Bytes(box("isom"))), FailsWith(StatusCode::kInvalidArgument, HasSubstr("a video")));
}

TEST(SniffImage, NamesWhatItRefuses) {
  const std::map<std::string, std::string> foreign = {
      {"%PDF-1.7 ...", "a PDF document"},
      {"<?xml version='1.0'?>\n<!-- c -->\n<svg/>", "an SVG drawing"},
      {"\xef\xbb\xbf <!DOCTYPE HTML>", "an HTML page"},
      {"<?xml version='1.0'?><rss/>", "an XML document"},
      {"PK\x03\x04....", "a ZIP archive"},
      {"hello", "text"},
      {"\xe4\xbd\xa0\xe5\xa5\xbd", "text"},
      {"data:image/png;base64,iVBO", "data URL"},
      {"\0\0\0\x0cJXL \r\n\x87\n"s, "a JPEG XL picture"},
      {"RIFF....WAVE", "a WAVE sound"},
      {"\x01\x02\x03\x04\x05"s, "unknown data (first bytes 01 02 03 04)"},
      {"\xff", "unknown data (first bytes ff)"},
      {"\0"s, "unknown data (first bytes 00)"},
  };
  for (const auto& [file, description] : foreign) {
    EXPECT_THAT(SniffImage(Bytes(file)),
                FailsWith(StatusCode::kInvalidArgument,
                          AllOf(HasSubstr(description), HasSubstr("accepted are JPEG, PNG, WebP"))));
  }
  EXPECT_THAT(SniffImage({}), FailsWith(StatusCode::kInvalidArgument, HasSubstr("empty (0 bytes)")));
}

// Every prefix of a magic is something, and none is a picture by accident.
TEST(SniffImage, ShortInputIsNeverAPicture) {
  for (const std::string& name : {"jpeg_444.jpg"s, "png_rgb.png"s, "webp_lossy.webp"s, "tiff_lzw.tiff"s}) {
    const std::string file = GoldenFile("images/" + name);
    for (size_t length = 0; length < 3; ++length)
      EXPECT_FALSE(SniffImage(Bytes(file.substr(0, length))).ok());
  }
}

}  // namespace
}  // namespace saccade
