// One picture between its header and its pixels: what was checked, and what is needed to go on.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"
#include "image/decode.h"
#include "image/rgb_image.h"

namespace saccade {

class VipsDecoder;

// Thread-compatible; different pictures may be decoded at the same time.
class PictureDecoder {
 public:
  // Recognises the kind, reads the header and applies `limits`. `file` must outlive the decoder.
  static Result<PictureDecoder> Open(std::span<const std::byte> file, const DecodeLimits& limits);

  PictureDecoder(PictureDecoder&&) noexcept;
  ~PictureDecoder();

  const ImageInfo& info() const { return info_; }

  // Consumes the decoder.
  Result<RgbImage> Decode() &&;

 private:
  PictureDecoder();
  Status OpenBmp(const DecodeLimits& limits);
  Status OpenWithVips(const DecodeLimits& limits);

  std::span<const std::byte> file_;
  ImageInfo info_;
  std::unique_ptr<VipsDecoder> vips_;  // null for BMP
};

}  // namespace saccade
