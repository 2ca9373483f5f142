// Facade of the image layer: from the bytes of a picture file to the patches of the vision tower.
//
//   SACCADE_ASSIGN_OR_RETURN(PreparedPicture picture, PreparePicture(file, config, limits));
//   picture.grid.patches   -> the tower
//   picture.original       -> what boxes in the answer refer to
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "image/decode.h"        // IWYU pragma: export
#include "image/patchify.h"      // IWYU pragma: export
#include "image/resize.h"        // IWYU pragma: export
#include "image/rgb_image.h"     // IWYU pragma: export
#include "image/smart_resize.h"  // IWYU pragma: export
#include "image/sniff.h"         // IWYU pragma: export

namespace saccade {

struct PictureTimings {
  double decode_ms = 0;
  double resize_ms = 0;  // cutting into patches included
};

struct PreparedPicture {
  PatchGrid grid;
  ImageKind kind = ImageKind::kJpeg;
  Size original;  // upright, before the resize
  PictureTimings timings;
};

// The size that PreparePicture will resize to, from the header alone. `override` replaces the checkpoint's
// limits.
Result<Size> PlannedSize(const ImageInfo& info, const PreprocessorConfig& config,
                         std::optional<PixelLimits> override = std::nullopt);

// Tokens of a picture of this resized size: what it costs before any pixel is decoded.
int64_t ImageTokens(Size resized, const PreprocessorConfig& config);

// Decode, resize, cut. Refuses from the header whatever can be refused from it. `config` has passed
// CheckPreprocessorConfig. Thread-safe; runs on the calling thread.
Result<PreparedPicture> PreparePicture(std::span<const std::byte> file, const PreprocessorConfig& config,
                                       const DecodeLimits& limits = {},
                                       std::optional<PixelLimits> override = std::nullopt);

}  // namespace saccade
