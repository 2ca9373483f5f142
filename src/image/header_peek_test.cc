#include "image/header_peek.h"

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using namespace std::string_literals;
using ::saccade::testing::Bytes;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::saccade::testing::GoldenNames;
using ::testing::HasSubstr;

TEST(PeekHeader, AgreesWithTheDecoders) {
  for (const std::string& name : GoldenNames("images")) {
    const std::string file = GoldenFile("images/" + name);
    SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(Bytes(file)));
    const auto peek = PeekHeader(info.kind, Bytes(file));
    if (info.kind == ImageKind::kTiff || info.kind == ImageKind::kBmp) {
      EXPECT_FALSE(peek.has_value());
      continue;
    }
    ASSERT_TRUE(peek.has_value()) << name;
    EXPECT_EQ(peek->width, info.width) << name;
    EXPECT_EQ(peek->height, info.height) << name;
    const bool progressive = name == "jpeg_progressive.jpg";
    EXPECT_EQ(peek->passes > 1, progressive) << name;
    EXPECT_EQ(peek->working_bytes > 0, progressive) << name;
  }
}

TEST(PeekHeader, AnswersNothingForEveryShortPrefix) {
  for (const std::string& name : {"jpeg_420.jpg"s, "png_rgb.png"s, "webp_lossy.webp"s, "gif_animated.gif"s}) {
    const std::string file = GoldenFile("images/" + name);
    const ImageKind kind = *SniffImage(Bytes(file));
    for (size_t length = 0; length < 10; ++length) {
      EXPECT_FALSE(PeekHeader(kind, Bytes(file.substr(0, length))).has_value()) << name << " " << length;
    }
  }
}

// A JPEG whose scans repeat until the decoder would run over it for minutes.
std::string ManyScans(const std::string& file, int repeats) {
  const size_t last_scan = file.rfind("\xff\xda"s), end = file.rfind("\xff\xd9"s);
  std::string bomb = file.substr(0, end);
  for (int i = 0; i < repeats; ++i) bomb += file.substr(last_scan, end - last_scan);
  return bomb + file.substr(end);
}

TEST(PeekHeader, CountsScansAndTheLimitApplies) {
  const std::string file = GoldenFile("images/jpeg_progressive.jpg");
  const int64_t scans = PeekHeader(ImageKind::kJpeg, Bytes(file))->passes;
  EXPECT_EQ(PeekHeader(ImageKind::kJpeg, Bytes(ManyScans(file, 100)))->passes, scans + 100);
  const std::string bomb = ManyScans(file, 30000);  // 320x240 pixels: 2.3e9 in all
  EXPECT_THAT(DecodeImage(Bytes(bomb)),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("scans over 76800 pixels")));
}

TEST(PeekHeader, MarkersInsideSegmentsAreNotScans) {
  std::string file = GoldenFile("images/jpeg_420.jpg");
  const std::string comment = "\xff\xfe\x00\x08\xff\xda\xff\xc0\xff\xda"s;
  file.insert(2, comment);
  EXPECT_EQ(PeekHeader(ImageKind::kJpeg, Bytes(file))->passes, 1);
  EXPECT_EQ(PeekHeader(ImageKind::kJpeg, Bytes(file))->width, 320);
}

// Directories of no entries, each pointing to the next; the last to `end`.
std::string TiffChain(int pages, uint32_t end) {
  std::string file = "II*\0\x08\0\0\0"s;
  for (int i = 0; i < pages; ++i) {
    const uint32_t next = i + 1 < pages ? static_cast<uint32_t>(file.size()) + 6 : end;
    file += std::string(2, '\0');
    for (int shift = 0; shift < 32; shift += 8) file += static_cast<char>(next >> shift & 255);
  }
  return file;
}

TEST(CountTiffPages, StopsAtTheEndAtALoopAndAtNonsense) {
  EXPECT_EQ(CountTiffPages(Bytes(GoldenFile("images/tiff_lzw.tiff")), 100), 1);
  EXPECT_EQ(CountTiffPages(Bytes(TiffChain(7, 0)), 100), 7);
  EXPECT_EQ(CountTiffPages(Bytes(TiffChain(7, 8)), 100), 101);
  EXPECT_EQ(CountTiffPages(Bytes(TiffChain(7, 0xfffffff0)), 100), 7);
  EXPECT_EQ(CountTiffPages({}, 100), 0);
  EXPECT_THAT(ProbeImage(Bytes(TiffChain(10001, 0))),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("more than 10000 pages")));
}

}  // namespace
}  // namespace saccade
