#include "image/bmp.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <vector>

#include "image/byte_reader.h"
#include "image/upright_writer.h"

namespace saccade {
namespace {

constexpr size_t kFileHeaderBytes = 14;
constexpr uint32_t kCoreHeaderBytes = 12;  // OS/2 1.x
constexpr uint32_t kInfoHeaderBytes = 40;
enum Compression : uint32_t { kUncompressed = 0, kBitFields = 3, kAlphaBitFields = 6 };

// One colour of a pixel of 16 or 32 bits; the mask is a run of set bits or empty (the channel is then 0).
struct Channel {
  uint32_t mask = 0;
  uint8_t Extract(uint32_t pixel) const {
    if (mask == 0) return 0;
    const int shift = std::countr_zero(mask);
    const uint64_t max = mask >> shift, value = (pixel & mask) >> shift;
    return static_cast<uint8_t>(value * 255 / max);
  }
  bool valid() const {
    const uint32_t run = mask == 0 ? 0 : mask >> std::countr_zero(mask);
    return (run & (run + 1)) == 0;
  }
};

struct BmpHeader {
  Size size;
  bool top_down = false;
  uint32_t header_bytes = 0, bits = 0, compression = kUncompressed;
  size_t pixels_at = 0, stride = 0;
  std::array<Channel, 4> channels;                    // red, green, blue, alpha; for 16 and 32 bits
  std::array<std::array<uint8_t, 3>, 256> palette{};  // missing entries are black
};

Status Damaged(std::string_view what) { return InvalidArgument("the BMP picture is damaged: {}", what); }

Status ParseGeometry(std::span<const std::byte> file, BmpHeader& header) {
  constexpr size_t at = kFileHeaderBytes;
  const bool core = header.header_bytes == kCoreHeaderBytes;
  int64_t width, height;
  uint32_t planes;
  if (core) {
    width = ReadLittleEndian(file, at + 4, 2);
    height = ReadLittleEndian(file, at + 6, 2);
    planes = ReadLittleEndian(file, at + 8, 2);
    header.bits = ReadLittleEndian(file, at + 10, 2);
  } else {
    width = static_cast<int32_t>(ReadLittleEndian(file, at + 4, 4));
    height = static_cast<int32_t>(ReadLittleEndian(file, at + 8, 4));
    planes = ReadLittleEndian(file, at + 12, 2);
    header.bits = ReadLittleEndian(file, at + 14, 2);
    header.compression = ReadLittleEndian(file, at + 16, 4);
  }
  header.top_down = height < 0;
  height = std::abs(height);
  if (width < 1 || height < 1 || height > std::numeric_limits<int32_t>::max()) {
    return Damaged(fmt::format("its size is {}x{}", width, height));
  }
  if (planes != 1) return Damaged(fmt::format("it has {} colour planes", planes));
  header.size = {static_cast<int>(width), static_cast<int>(height)};
  return OkStatus();
}

Status CheckEncoding(const BmpHeader& header) {
  constexpr std::array<uint32_t, 6> kDepths = {1, 4, 8, 16, 24, 32};
  if (std::find(kDepths.begin(), kDepths.end(), header.bits) == kDepths.end()) {
    return InvalidArgument("BMP pictures of {} bits per pixel are not supported", header.bits);
  }
  if (header.compression == kUncompressed) return OkStatus();
  const bool fields = header.compression == kBitFields || header.compression == kAlphaBitFields;
  if (fields && (header.bits == 16 || header.bits == 32)) return OkStatus();
  return InvalidArgument(
      "BMP compression {} at {} bits per pixel is not supported; save it uncompressed or as PNG",
      header.compression, header.bits);
}

// Returns where the palette starts: behind the header and the bit fields.
Result<size_t> ParseChannels(std::span<const std::byte> file, BmpHeader& header) {
  const size_t header_end = kFileHeaderBytes + header.header_bytes;
  if (header.compression == kUncompressed) {
    if (header.bits == 16) header.channels = {Channel{0x7c00}, Channel{0x03e0}, Channel{0x001f}, Channel{}};
    if (header.bits == 32) header.channels = {Channel{0xff0000}, Channel{0xff00}, Channel{0xff}, Channel{}};
    return header_end;
  }
  // Behind a 40-byte header; longer ones contain the fields at the same place. The alpha field came with the
  // 56-byte header or with its own compression code.
  constexpr size_t masks_at = kFileHeaderBytes + kInfoHeaderBytes;
  const bool has_alpha = header.header_bytes >= 56 || header.compression == kAlphaBitFields;
  const size_t masks_end = masks_at + (has_alpha ? 16 : 12);
  if (file.size() < masks_end) return Damaged("its bit fields are cut short");
  for (size_t i = 0; i < (has_alpha ? 4u : 3u); ++i) {
    header.channels[i].mask = ReadLittleEndian(file, masks_at + 4 * i, 4);
    if (!header.channels[i].valid()) return Damaged("a bit field has a gap");
  }
  return std::max(header_end, masks_end);
}

Status ParsePalette(std::span<const std::byte> file, size_t at, BmpHeader& header) {
  if (header.bits > 8) return OkStatus();
  const bool core = header.header_bytes == kCoreHeaderBytes;
  const uint32_t possible = 1u << header.bits;
  const uint32_t declared = core ? 0 : ReadLittleEndian(file, kFileHeaderBytes + 32, 4);
  const uint32_t entries = declared == 0 ? possible : std::min(declared, possible);
  const size_t entry_bytes = core ? 3 : 4;
  if (file.size() < at + entries * entry_bytes) return Damaged("its palette is cut short");
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = at + i * entry_bytes;
    for (size_t c = 0; c < 3; ++c) header.palette[i][c] = std::to_integer<uint8_t>(file[entry + 2 - c]);
  }
  return OkStatus();
}

Status CheckPixelArea(std::span<const std::byte> file, size_t header_end, BmpHeader& header) {
  header.pixels_at = ReadLittleEndian(file, 10, 4);
  header.stride = (static_cast<size_t>(header.size.width) * header.bits + 31) / 32 * 4;
  if (header.pixels_at < header_end) return Damaged("its pixels overlap the header");
  const size_t available = file.size() - std::min(file.size(), header.pixels_at);
  if (static_cast<size_t>(header.size.height) > available / header.stride) {
    return InvalidArgument(
        "the BMP picture is cut short: its header claims {}x{} pixels of {} bits, the file has {} bytes",
        header.size.width, header.size.height, header.bits, file.size());
  }
  return OkStatus();
}

Result<BmpHeader> ParseBmp(std::span<const std::byte> file) {
  BmpHeader header;
  header.header_bytes = ReadLittleEndian(file, kFileHeaderBytes, 4);
  constexpr std::array<uint32_t, 6> kHeaderSizes = {kCoreHeaderBytes, kInfoHeaderBytes, 52, 56, 108, 124};
  if (std::find(kHeaderSizes.begin(), kHeaderSizes.end(), header.header_bytes) == kHeaderSizes.end()) {
    return Damaged(fmt::format("its header claims {} bytes", header.header_bytes));
  }
  if (file.size() < kFileHeaderBytes + header.header_bytes) return Damaged("its header is cut short");
  SACCADE_RETURN_IF_ERROR(ParseGeometry(file, header));
  SACCADE_RETURN_IF_ERROR(CheckEncoding(header));
  SACCADE_ASSIGN_OR_RETURN(const size_t palette_at, ParseChannels(file, header));
  SACCADE_RETURN_IF_ERROR(ParsePalette(file, palette_at, header));
  SACCADE_RETURN_IF_ERROR(CheckPixelArea(file, palette_at, header));
  return header;
}

const uint8_t* StoredRow(std::span<const std::byte> file, const BmpHeader& header, int row) {
  return reinterpret_cast<const uint8_t*>(file.data()) + header.pixels_at +
         header.stride * static_cast<size_t>(row);
}

// Pixel `x` of a 16- or 32-bit row.
uint32_t WidePixel(const uint8_t* row, int x, uint32_t bits) {
  if (bits == 16) return row[2 * x] | static_cast<uint32_t>(row[2 * x + 1]) << 8;
  const uint8_t* pixel = row + 4 * static_cast<size_t>(x);
  return pixel[0] | pixel[1] << 8 | pixel[2] << 16 | static_cast<uint32_t>(pixel[3]) << 24;
}

bool AnyAlpha(std::span<const std::byte> file, const BmpHeader& header) {
  const uint32_t mask = header.channels[3].mask;
  if (mask == 0) return false;
  for (int y = 0; y < header.size.height; ++y) {
    const uint8_t* row = StoredRow(file, header, y);
    for (int x = 0; x < header.size.width; ++x) {
      if (WidePixel(row, x, header.bits) & mask) return true;
    }
  }
  return false;
}

void UnpackIndexed(const uint8_t* row, const BmpHeader& header, uint8_t* rgb) {
  const uint32_t bits = header.bits, mask = (1u << bits) - 1;
  for (int x = 0; x < header.size.width; ++x, rgb += 3) {
    const size_t bit = static_cast<size_t>(x) * bits;
    const uint32_t index = row[bit / 8] >> (8 - bits - bit % 8) & mask;
    std::copy_n(header.palette[index].data(), 3, rgb);
  }
}

void UnpackBgr(const uint8_t* row, const BmpHeader& header, uint8_t* rgb) {
  for (int x = 0; x < header.size.width; ++x, row += 3, rgb += 3) {
    rgb[0] = row[2];
    rgb[1] = row[1];
    rgb[2] = row[0];
  }
}

void UnpackFields(const uint8_t* row, const BmpHeader& header, uint8_t* rgba) {
  for (int x = 0; x < header.size.width; ++x, rgba += 4) {
    const uint32_t pixel = WidePixel(row, x, header.bits);
    for (size_t c = 0; c < 4; ++c) rgba[c] = header.channels[c].Extract(pixel);
  }
}

}  // namespace

Result<Size> ReadBmpSize(std::span<const std::byte> file) {
  SACCADE_ASSIGN_OR_RETURN(const BmpHeader header, ParseBmp(file));
  return header.size;
}

Result<RgbImage> DecodeBmp(std::span<const std::byte> file) {
  SACCADE_ASSIGN_OR_RETURN(const BmpHeader header, ParseBmp(file));
  const bool fields = header.bits == 16 || header.bits == 32;
  const PixelLayout layout = {
      .model = ColourModel::kRgb, .samples = fields ? 4 : 3, .alpha = fields && AnyAlpha(file, header)};
  std::vector<uint8_t> unpacked(layout.pixel_bytes() * static_cast<size_t>(header.size.width));
  UprightWriter writer(header.size, 1);
  for (int y = 0; y < header.size.height; ++y) {
    const uint8_t* row = StoredRow(file, header, y);
    if (header.bits <= 8) {
      UnpackIndexed(row, header, unpacked.data());
    } else if (header.bits == 24) {
      UnpackBgr(row, header, unpacked.data());
    } else {
      UnpackFields(row, header, unpacked.data());
    }
    const int target = header.top_down ? y : header.size.height - 1 - y;
    writer.WriteRows(target, 1, unpacked.data(), unpacked.size(), layout);
  }
  return writer.Take();
}

}  // namespace saccade
