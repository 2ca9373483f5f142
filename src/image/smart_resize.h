// The size a picture is resized to before the vision tower sees it.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "image/rgb_image.h"

namespace saccade {

// A picture is scaled so that its area lies between the two; min_pixels and max_pixels of the checkpoint, or
// of one request.
struct PixelLimits {
  int64_t min_pixels = 0, max_pixels = 0;
  bool operator==(const PixelLimits&) const = default;
};

// Pictures longer than this are refused (MAX_RATIO of the reference); exactly this ratio still passes.
inline constexpr double kMaxAspectRatio = 200;

// No limit may ask for more than this: a request's own min_pixels must not make the server allocate
// gigabytes. 96 megapixels are six times the published checkpoints' max_pixels.
inline constexpr int64_t kMaxResizedPixels = int64_t{96} << 20;

// 0 < min_pixels <= max_pixels <= kMaxResizedPixels, or kInvalidArgument with the numbers.
Status CheckPixelLimits(PixelLimits limits);

// Mirrors smart_resize of transformers' qwen2_vl image processor, with its order of steps and its rounding
// (half to even): both sides become multiples of `factor`, which is patch_size * merge_size. Refuses an empty
// picture, a ratio over kMaxAspectRatio (the message names it) and limits that CheckPixelLimits refuses. Like
// the reference it may exceed max_pixels for a long strip, whose short side cannot fall below `factor`.
Result<Size> SmartResize(Size picture, int factor, PixelLimits limits);

}  // namespace saccade
