#include "image/picture_decoder.h"

#include <optional>

#include "image/bmp.h"
#include "image/header_peek.h"
#include "image/upright_writer.h"
#include "image/vips_decoder.h"

namespace saccade {
namespace {

// Passes over pixels that one JPEG may cost. Every scan of a progressive file touches the whole picture,
// however few bytes it has: a few kilobytes could keep a core busy for hours. 2e9 leaves 20 scans to the
// largest accepted picture and 160 to one of 12 megapixels; encoders write about 10.
constexpr int64_t kMaxPixelPasses = 2'000'000'000;

// Pages of a TIFF, of which the first is read: keeps opening one under 0.1 s.
constexpr int64_t kMaxTiffPages = 10'000;

constexpr int64_t kOutputBytesPerPixel = 3;

// Strips and row caches between libvips and the output, per pixel of width: measured 8 MB at 4000 pixels and
// 23 MB at 9000 for JPEG, less for others.
constexpr int64_t kStripBytesPerColumn = 2560;

// Whole-picture buffers that a loader always needs: the canvas of a GIF; canvas, frame and copy of a WebP
// (measured 8.9 bytes); the planes of a HEIC or AVIF and their RGBA form (measured 7.7 bytes with 8 bits per
// sample, twice that with 10).
int64_t WorkingBytesPerPixel(ImageKind kind) {
  switch (kind) {
    case ImageKind::kGif:
      return 4;
    case ImageKind::kWebp:
      return 9;
    case ImageKind::kHeic:
    case ImageKind::kAvif:
      return 14;
    default:
      return 0;
  }
}

Status CheckPixels(ImageKind kind, int64_t width, int64_t height, const DecodeLimits& limits) {
  if (width < 1 || height < 1) {
    return InvalidArgument("the {} picture has no pixels ({}x{})", ImageKindName(kind), width, height);
  }
  if (width > limits.max_pixels / height) {
    return InvalidArgument("the {} picture is {}x{} = {:.1f} megapixels; the limit is {:.1f} megapixels",
                           ImageKindName(kind), width, height, static_cast<double>(width) * height / 1e6,
                           static_cast<double>(limits.max_pixels) / 1e6);
  }
  return OkStatus();
}

Status CheckPasses(ImageKind kind, const HeaderPeek& peek) {
  const int64_t pixels = peek.width * peek.height;
  if (peek.passes == 1 || pixels <= kMaxPixelPasses / peek.passes) return OkStatus();
  return InvalidArgument("the {} picture has {} scans over {} pixels each; the limit is {} in all",
                         ImageKindName(kind), peek.passes, pixels, kMaxPixelPasses);
}

// Sets info.decode_bytes and compares it.
Status CheckMemory(const HeaderPeek& peek, const DecodeLimits& limits, ImageInfo& info) {
  const int64_t pixels = int64_t{info.width} * info.height;
  info.decode_bytes = pixels * (kOutputBytesPerPixel + WorkingBytesPerPixel(info.kind)) + peek.working_bytes +
                      info.width * kStripBytesPerColumn;
  if (info.decode_bytes <= limits.max_memory_bytes) return OkStatus();
  constexpr int64_t kMegabyte = 1 << 20;
  return InvalidArgument("decoding this {} picture of {}x{} pixels takes {} MB; the limit is {} MB",
                         ImageKindName(info.kind), info.width, info.height, info.decode_bytes / kMegabyte,
                         limits.max_memory_bytes / kMegabyte);
}

}  // namespace

PictureDecoder::PictureDecoder() = default;
PictureDecoder::PictureDecoder(PictureDecoder&&) noexcept = default;
PictureDecoder::~PictureDecoder() = default;

Result<PictureDecoder> PictureDecoder::Open(std::span<const std::byte> file, const DecodeLimits& limits) {
  if (static_cast<int64_t>(file.size()) > limits.max_file_bytes) {
    return TooLarge("the picture file has {} bytes; the limit is {}", file.size(), limits.max_file_bytes);
  }
  PictureDecoder decoder;
  SACCADE_ASSIGN_OR_RETURN(decoder.info_.kind, SniffImage(file));
  decoder.file_ = file;
  SACCADE_RETURN_IF_ERROR(decoder.info_.kind == ImageKind::kBmp ? decoder.OpenBmp(limits)
                                                                : decoder.OpenWithVips(limits));
  return decoder;
}

Status PictureDecoder::OpenBmp(const DecodeLimits& limits) {
  SACCADE_ASSIGN_OR_RETURN(const Size size, ReadBmpSize(file_));
  SACCADE_RETURN_IF_ERROR(CheckPixels(info_.kind, size.width, size.height, limits));
  info_.width = size.width;
  info_.height = size.height;
  return CheckMemory({}, limits, info_);
}

// Limits are applied twice: to what the file claims, before any loader sees it, and to what the loader
// reports.
Status PictureDecoder::OpenWithVips(const DecodeLimits& limits) {
  const std::optional<HeaderPeek> claimed = PeekHeader(info_.kind, file_);
  const HeaderPeek peek = claimed.value_or(HeaderPeek{});
  if (claimed) {
    SACCADE_RETURN_IF_ERROR(CheckPixels(info_.kind, peek.width, peek.height, limits));
    SACCADE_RETURN_IF_ERROR(CheckPasses(info_.kind, peek));
    info_.width = static_cast<int>(peek.width);
    info_.height = static_cast<int>(peek.height);
    SACCADE_RETURN_IF_ERROR(CheckMemory(peek, limits, info_));
  }
  if (info_.kind == ImageKind::kTiff && CountTiffPages(file_, kMaxTiffPages) > kMaxTiffPages) {
    return InvalidArgument("the TIFF picture has more than {} pages", kMaxTiffPages);
  }
  SACCADE_ASSIGN_OR_RETURN(vips_, VipsDecoder::Open(info_.kind, file_));
  info_ = vips_->Info();
  SACCADE_RETURN_IF_ERROR(CheckPixels(info_.kind, info_.width, info_.height, limits));
  return CheckMemory(peek, limits, info_);
}

Result<RgbImage> PictureDecoder::Decode() && {
  if (vips_ == nullptr) return DecodeBmp(file_);
  UprightWriter writer({info_.width, info_.height}, info_.orientation);
  SACCADE_RETURN_IF_ERROR(vips_->Decode(writer));
  return writer.Take();
}

}  // namespace saccade
