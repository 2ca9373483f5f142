#include "image/decode.h"

#include <utility>

#include "image/picture_decoder.h"
#include "image/upright_writer.h"

namespace saccade {

Size UprightSizeOf(const ImageInfo& info) { return UprightSize({info.width, info.height}, info.orientation); }

Result<ImageInfo> ProbeImage(std::span<const std::byte> file, const DecodeLimits& limits) {
  SACCADE_ASSIGN_OR_RETURN(const PictureDecoder decoder, PictureDecoder::Open(file, limits));
  return decoder.info();
}

Result<RgbImage> DecodeImage(std::span<const std::byte> file, const DecodeLimits& limits) {
  SACCADE_ASSIGN_OR_RETURN(PictureDecoder decoder, PictureDecoder::Open(file, limits));
  return std::move(decoder).Decode();
}

}  // namespace saccade
