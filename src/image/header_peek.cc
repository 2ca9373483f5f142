#include "image/header_peek.h"

#include <algorithm>
#include <cstring>

#include "image/byte_reader.h"

namespace saccade {
namespace {

std::optional<HeaderPeek> PeekPng(std::span<const std::byte> file) {
  if (file.size() < 33) return std::nullopt;  // signature, then the IHDR chunk, which must come first
  HeaderPeek peek;
  peek.width = ReadBigEndian(file, 16, 4);
  peek.height = ReadBigEndian(file, 20, 4);
  if (peek.width > INT32_MAX || peek.height > INT32_MAX)
    return std::nullopt;  // over the PNG standard's limit
  // An interlaced picture is decoded whole: up to four samples per pixel.
  constexpr int64_t kSanePixels = int64_t{1} << 40;
  const bool sixteen_bit = ReadBigEndian(file, 24, 1) == 16, interlaced = ReadBigEndian(file, 28, 1) != 0;
  const int64_t pixels = peek.width * peek.height;
  if (interlaced && pixels < kSanePixels) peek.working_bytes = pixels * (sixteen_bit ? 8 : 4);
  return peek;
}

std::optional<HeaderPeek> PeekGif(std::span<const std::byte> file) {
  if (file.size() < 10) return std::nullopt;
  HeaderPeek peek;
  peek.width = ReadLittleEndian(file, 6, 2);
  peek.height = ReadLittleEndian(file, 8, 2);
  return peek;
}

// Canvas of the extended format, or the frame of a simple lossy or lossless file.
std::optional<HeaderPeek> PeekWebp(std::span<const std::byte> file) {
  if (file.size() < 30) return std::nullopt;
  constexpr size_t data = 20;  // behind RIFF header and the first chunk's header
  const char* chunk = reinterpret_cast<const char*>(file.data()) + 12;
  HeaderPeek peek;
  if (std::memcmp(chunk, "VP8X", 4) == 0) {
    peek.width = ReadLittleEndian(file, data + 4, 3) + 1;
    peek.height = ReadLittleEndian(file, data + 7, 3) + 1;
  } else if (std::memcmp(chunk, "VP8L", 4) == 0) {
    const uint32_t bits = ReadLittleEndian(file, data + 1, 4);
    peek.width = (bits & 0x3fff) + 1;
    peek.height = (bits >> 14 & 0x3fff) + 1;
  } else if (std::memcmp(chunk, "VP8 ", 4) == 0) {
    peek.width = ReadLittleEndian(file, data + 6, 2) & 0x3fff;
    peek.height = ReadLittleEndian(file, data + 8, 2) & 0x3fff;
  } else {
    return std::nullopt;
  }
  return peek;
}

bool IsStartOfFrame(uint32_t marker) {
  return marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
}

// Markers without a segment: stuffed zero, TEM, restart markers, a second SOI.
bool IsBareMarker(uint32_t marker) {
  return marker == 0 || marker == 1 || (marker >= 0xd0 && marker <= 0xd8);
}

// Frame header at `at` (the marker's length field): size, and the coefficients that a picture of several
// scans keeps, two bytes for every sample after subsampling.
void ReadStartOfFrame(std::span<const std::byte> file, size_t at, HeaderPeek& peek,
                      int64_t& coefficient_bytes) {
  peek.height = ReadBigEndian(file, at + 3, 2);
  peek.width = ReadBigEndian(file, at + 5, 2);
  const uint32_t components = std::min(ReadBigEndian(file, at + 7, 1), 4u);
  int64_t samples = 0, max_samples = 1;
  for (uint32_t i = 0; i < components; ++i) {
    const uint32_t factors = ReadBigEndian(file, at + 9 + 3 * size_t{i}, 1);
    const int64_t component = int64_t{factors >> 4} * (factors & 15);
    samples += component;
    max_samples = std::max(max_samples, component);
  }
  coefficient_bytes = peek.width * peek.height * 2 * samples / max_samples;
}

// Walks all markers to the end of the picture. Entropy-coded data between them is skipped with memchr.
std::optional<HeaderPeek> PeekJpeg(std::span<const std::byte> file) {
  HeaderPeek peek;
  int64_t scans = 0, coefficient_bytes = 0;
  size_t at = 2;
  while (at < file.size()) {
    const void* found = std::memchr(file.data() + at, 0xff, file.size() - at);
    if (found == nullptr) break;
    at = static_cast<size_t>(static_cast<const std::byte*>(found) - file.data()) + 1;
    const uint32_t marker = ReadBigEndian(file, at, 1);
    if (marker == 0xff) continue;  // fill byte
    ++at;
    if (marker == 0xd9) break;  // end of image
    if (IsBareMarker(marker)) continue;
    if (IsStartOfFrame(marker) && peek.width == 0) ReadStartOfFrame(file, at, peek, coefficient_bytes);
    if (marker == 0xda) ++scans;
    at += ReadBigEndian(file, at, 2);
  }
  if (peek.width == 0) return std::nullopt;
  peek.passes = std::max<int64_t>(scans, 1);
  if (scans > 1) peek.working_bytes = coefficient_bytes;
  return peek;
}

// The two byte orders and the two offset widths of TIFF.
class TiffReader {
 public:
  explicit TiffReader(std::span<const std::byte> file)
      : file_(file), little_endian_(ReadLittleEndian(file, 0, 1) == 'I'), big_tiff_(Read(2, 2) == 43) {}

  uint64_t FirstDirectory() const { return big_tiff_ ? Offset(8) : Offset(4); }
  // Zero at the end of the chain and for anything outside the file.
  uint64_t DirectoryAfter(uint64_t directory) const {
    const uint64_t entries = big_tiff_ ? Offset(directory) : Read(directory, 2);
    if (entries > file_.size()) return 0;
    return big_tiff_ ? Offset(directory + 8 + 20 * entries) : Offset(directory + 2 + 12 * entries);
  }

 private:
  uint64_t Read(uint64_t at, int count) const {
    return little_endian_ ? ReadLittleEndian(file_, at, count) : ReadBigEndian(file_, at, count);
  }
  uint64_t Offset(uint64_t at) const {
    if (!big_tiff_) return Read(at, 4);
    const uint64_t first = Read(at, 4), second = Read(at + 4, 4);
    return little_endian_ ? second << 32 | first : first << 32 | second;
  }

  std::span<const std::byte> file_;
  bool little_endian_, big_tiff_;
};

}  // namespace

int64_t CountTiffPages(std::span<const std::byte> file, int64_t at_most) {
  const TiffReader tiff(file);
  int64_t pages = 0;
  for (uint64_t at = tiff.FirstDirectory(); at != 0 && at < file.size() && pages <= at_most; ++pages) {
    at = tiff.DirectoryAfter(at);
  }
  return pages;
}

std::optional<HeaderPeek> PeekHeader(ImageKind kind, std::span<const std::byte> file) {
  switch (kind) {
    case ImageKind::kPng:
      return PeekPng(file);
    case ImageKind::kGif:
      return PeekGif(file);
    case ImageKind::kWebp:
      return PeekWebp(file);
    case ImageKind::kJpeg:
      return PeekJpeg(file);
    default:
      return std::nullopt;
  }
}

}  // namespace saccade
