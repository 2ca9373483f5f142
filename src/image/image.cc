#include "image/image.h"

#include <chrono>
#include <utility>

#include "base/stopwatch.h"
#include "image/picture_decoder.h"

namespace saccade {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Result<Size> PlannedSize(const ImageInfo& info, const PreprocessorConfig& config,
                         std::optional<PixelLimits> override) {
  return SmartResize(UprightSizeOf(info), config.factor(), override.value_or(config.limits));
}

int64_t ImageTokens(Size resized, const PreprocessorConfig& config) {
  return resized.pixels() / (int64_t{config.factor()} * config.factor());
}

Result<PreparedPicture> PreparePicture(std::span<const std::byte> file, const PreprocessorConfig& config,
                                       const DecodeLimits& limits, std::optional<PixelLimits> override) {
  PreparedPicture picture;
  const auto decode_start = Clock::now();
  SACCADE_ASSIGN_OR_RETURN(PictureDecoder decoder, PictureDecoder::Open(file, limits));
  SACCADE_ASSIGN_OR_RETURN(const Size size, PlannedSize(decoder.info(), config, override));
  picture.kind = decoder.info().kind;
  SACCADE_ASSIGN_OR_RETURN(const RgbImage image, std::move(decoder).Decode());
  picture.original = image.size();
  picture.timings.decode_ms = MillisecondsSince(decode_start);

  const auto resize_start = Clock::now();
  picture.grid = ResizeToPatches(image, size, config.patch_size, config.merge_size);
  picture.timings.resize_ms = MillisecondsSince(resize_start);
  return picture;
}

}  // namespace saccade
