#include "image/bmp.h"

#include <vector>

#include "base/status_testing.h"
#include "image/image_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Bytes;
using ::saccade::testing::FailsWith;
using ::saccade::testing::GoldenFile;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::string Little(uint64_t value, int count) {
  std::string bytes;
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(value >> 8 * i & 255);
  return bytes;
}

// A BMP in parts, so that a test changes just the part it is about.
struct BmpFile {
  int32_t width = 2, height = 2;
  uint16_t planes = 1, bits = 24;
  uint32_t compression = 0, header_bytes = 40, colours = 0;
  std::vector<uint32_t> masks = {};  // behind the first 40 bytes of header
  std::string palette = {}, pixels = {};
  std::optional<uint32_t> pixels_at = std::nullopt;

  std::string Build() const {
    std::string header = Little(header_bytes, 4);
    if (header_bytes == 12) {
      header += Little(static_cast<uint32_t>(width), 2) + Little(static_cast<uint32_t>(height), 2);
      header += Little(planes, 2) + Little(bits, 2);
    } else {
      header += Little(static_cast<uint32_t>(width), 4) + Little(static_cast<uint32_t>(height), 4);
      header += Little(planes, 2) + Little(bits, 2) + Little(compression, 4) + std::string(12, '\0');
      header += Little(colours, 4) + Little(0, 4);
      for (uint32_t mask : masks) header += Little(mask, 4);
      if (header.size() < header_bytes) header.resize(header_bytes);
    }
    const auto start = static_cast<uint32_t>(14 + header.size() + palette.size());
    return "BM" + Little(0, 8) + Little(pixels_at.value_or(start), 4) + header + palette + pixels;
  }
};

std::vector<int> Decode(const BmpFile& bmp) {
  const std::string file = bmp.Build();
  const Result<RgbImage> image = DecodeBmp(Bytes(file));
  EXPECT_TRUE(image.ok()) << image.status().ToString();
  if (!image.ok()) return {};
  return {image->pixels.begin(), image->pixels.end()};
}

Status Refusal(const BmpFile& bmp) {
  const std::string file = bmp.Build();
  return DecodeBmp(Bytes(file)).status();
}

// Blue, green, red; rows padded to four bytes.
const std::string kTwoByTwo = std::string("\x01\x02\x03\x04\x05\x06", 6) + "pp" +  // bottom row
                              std::string("\x07\x08\x09\x0a\x0b\x0c", 6) + "pp";   // top row

TEST(DecodeBmp, BottomUpAndTopDown) {
  EXPECT_THAT(Decode({.pixels = kTwoByTwo}), ElementsAre(9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4));
  EXPECT_THAT(Decode({.height = -2, .pixels = kTwoByTwo}),
              ElementsAre(3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10));
}

TEST(DecodeBmp, EveryHeaderSize) {
  for (uint32_t header_bytes : {12u, 40u, 52u, 56u, 108u, 124u}) {
    EXPECT_THAT(Decode({.header_bytes = header_bytes, .pixels = kTwoByTwo}),
                ElementsAre(9, 8, 7, 12, 11, 10, 3, 2, 1, 6, 5, 4))
        << header_bytes;
  }
}

TEST(DecodeBmp, Palettes) {
  const std::string two = std::string("\x01\x02\x03\0\x0a\x0b\x0c\0", 8);
  EXPECT_THAT(
      Decode({.width = 9, .height = 1, .bits = 1, .palette = two, .pixels = std::string("\x40\x80\0\0", 4)}),
      ElementsAreArray(
          {3, 2, 1, 12, 11, 10, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 3, 2, 1, 12, 11, 10}));
  EXPECT_THAT(Decode({.width = 3,
                      .height = 1,
                      .bits = 4,
                      .colours = 2,
                      .palette = two,
                      .pixels = std::string("\x01\x10\0\0", 4)}),
              ElementsAre(3, 2, 1, 12, 11, 10, 12, 11, 10));
  EXPECT_THAT(Decode({.width = 2,
                      .height = 1,
                      .bits = 8,
                      .colours = 2,
                      .palette = two,
                      .pixels = std::string("\x01\0\0\0", 4)}),
              ElementsAre(12, 11, 10, 3, 2, 1));
  // An index beyond the palette is black, as everywhere.
  EXPECT_THAT(Decode({.width = 1,
                      .height = 1,
                      .bits = 8,
                      .colours = 2,
                      .palette = two,
                      .pixels = std::string("\xff\0\0\0", 4)}),
              ElementsAre(0, 0, 0));
  // OS/2 palettes have three bytes per entry.
  const std::string os2 = std::string("\x01\x02\x03\x0a\x0b\x0c", 6);
  EXPECT_THAT(Decode({.width = 2,
                      .height = 1,
                      .bits = 1,
                      .header_bytes = 12,
                      .palette = os2,
                      .pixels = std::string("\x40\0\0\0", 4)}),
              ElementsAre(3, 2, 1, 12, 11, 10));
}

TEST(DecodeBmp, SixteenBits) {
  // 0rrrrrgggggbbbbb without fields, 5-6-5 with them.
  EXPECT_THAT(Decode({.width = 2, .height = 1, .bits = 16, .pixels = Little(0x7c1f, 2) + Little(0x0200, 2)}),
              ElementsAre(255, 0, 255, 0, 16 * 255 / 31, 0));
  EXPECT_THAT(Decode({.width = 2,
                      .height = 1,
                      .bits = 16,
                      .compression = 3,
                      .masks = {0xf800, 0x07e0, 0x001f},
                      .pixels = Little(0xf81f, 2) + Little(0x0400, 2)}),
              ElementsAre(255, 0, 255, 0, 32 * 255 / 63, 0));
}

TEST(DecodeBmp, ThirtyTwoBitsIgnoreTheFourthByteUnlessDeclared) {
  const std::string pixels = Little(0x00112233, 4) + Little(0x80000000, 4);
  EXPECT_THAT(Decode({.height = 1, .bits = 32, .pixels = pixels}), ElementsAre(0x11, 0x22, 0x33, 0, 0, 0));
  const std::vector<uint32_t> masks = {0xff0000, 0xff00, 0xff, 0xff000000};
  EXPECT_THAT(
      Decode(
          {.height = 1, .bits = 32, .compression = 3, .header_bytes = 124, .masks = masks, .pixels = pixels}),
      ElementsAre(255, 255, 255, 127, 127, 127));
  EXPECT_THAT(Decode({.height = 1, .bits = 32, .compression = 6, .masks = masks, .pixels = pixels}),
              ElementsAre(255, 255, 255, 127, 127, 127));
  // All zero: the writer did not mean transparency.
  EXPECT_THAT(Decode({.width = 1,
                      .height = 1,
                      .bits = 32,
                      .compression = 3,
                      .header_bytes = 124,
                      .masks = masks,
                      .pixels = Little(0x00112233, 4)}),
              ElementsAre(0x11, 0x22, 0x33));
  // Ten bits per channel.
  EXPECT_THAT(Decode({.width = 1,
                      .height = 1,
                      .bits = 32,
                      .compression = 3,
                      .masks = {0x3ff00000, 0xffc00, 0x3ff},
                      .pixels = Little(0x3ff00000 | 512 << 10, 4)}),
              ElementsAre(255, 512 * 255 / 1023, 0));
}

TEST(DecodeBmp, RefusesWhatItDoesNotRead) {
  const auto refused = [](const char* reason) {
    return FailsWith(StatusCode::kInvalidArgument, HasSubstr(reason));
  };
  EXPECT_THAT(Refusal({.bits = 8, .compression = 1}), refused("compression 1 at 8 bits"));
  EXPECT_THAT(Refusal({.bits = 24, .compression = 3}), refused("compression 3 at 24 bits"));
  EXPECT_THAT(Refusal({.bits = 2}), refused("2 bits per pixel"));
  EXPECT_THAT(Refusal({.planes = 3}), refused("3 colour planes"));
  EXPECT_THAT(Refusal({.width = 0}), refused("its size is 0x2"));
  EXPECT_THAT(Refusal({.width = -1}), refused("its size is -1x2"));
  EXPECT_THAT(Refusal({.height = INT32_MIN}), refused("its size is"));
  EXPECT_THAT(Refusal({.header_bytes = 64}), refused("header claims 64 bytes"));
  EXPECT_THAT(Refusal({.bits = 32, .compression = 3, .masks = {0xff00ff, 0xff00, 0xff}, .pixels = kTwoByTwo}),
              refused("a bit field has a gap"));
  EXPECT_THAT(Refusal({.pixels = kTwoByTwo.substr(1)}), refused("cut short"));
  EXPECT_THAT(Refusal({.pixels = kTwoByTwo, .pixels_at = 20}), refused("overlap the header"));
  EXPECT_THAT(Refusal({.pixels = kTwoByTwo, .pixels_at = 0xffffffff}), refused("cut short"));
  EXPECT_THAT(Refusal({.width = INT32_MAX, .height = INT32_MAX, .bits = 32}),
              refused("2147483647x2147483647"));
  EXPECT_THAT(Refusal({.bits = 8}), refused("palette is cut short"));
}

TEST(ReadBmpSize, EveryPrefixIsRefused) {
  const std::string file = GoldenFile("images/bmp.bmp");
  EXPECT_EQ(*ReadBmpSize(Bytes(file)), (Size{320, 240}));
  for (size_t length = 0; length < file.size(); length += length < 200 ? 1 : 9973) {
    EXPECT_FALSE(ReadBmpSize(Bytes(file.substr(0, length))).ok()) << length;
  }
}

}  // namespace
}  // namespace saccade
