#include "image/smart_resize.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace saccade {

Status CheckPixelLimits(PixelLimits limits) {
  if (limits.min_pixels < 1 || limits.max_pixels < limits.min_pixels) {
    return InvalidArgument("min_pixels {} and max_pixels {} must satisfy 1 <= min_pixels <= max_pixels",
                           limits.min_pixels, limits.max_pixels);
  }
  if (limits.max_pixels > kMaxResizedPixels) {
    return InvalidArgument("max_pixels {} is over the limit of {}", limits.max_pixels, kMaxResizedPixels);
  }
  return OkStatus();
}

Result<Size> SmartResize(Size picture, int factor, PixelLimits limits) {
  SACCADE_CHECK(factor > 0);
  SACCADE_RETURN_IF_ERROR(CheckPixelLimits(limits));
  const int longer = std::max(picture.width, picture.height);
  const int shorter = std::min(picture.width, picture.height);
  if (shorter < 1) return InvalidArgument("the picture has no pixels ({}x{})", picture.width, picture.height);
  const double ratio = static_cast<double>(longer) / shorter;
  if (ratio > kMaxAspectRatio) {
    return InvalidArgument("the picture is {}x{} pixels, an aspect ratio of {:.2f}; the limit is {:.0f}",
                           picture.width, picture.height, ratio, kMaxAspectRatio);
  }

  // nearbyint rounds half to even as Python's round does: 720 / 32 = 22.5 becomes 22. Every step is in
  // doubles and in the reference's order; integer shortcuts give other sizes.
  const double width = picture.width, height = picture.height, area = width * height;
  double new_width = std::nearbyint(width / factor) * factor;
  double new_height = std::nearbyint(height / factor) * factor;
  if (new_width * new_height > static_cast<double>(limits.max_pixels)) {
    const double beta = std::sqrt(area / static_cast<double>(limits.max_pixels));
    new_width = std::max<double>(factor, std::floor(width / beta / factor) * factor);
    new_height = std::max<double>(factor, std::floor(height / beta / factor) * factor);
  } else if (new_width * new_height < static_cast<double>(limits.min_pixels)) {
    // A side may have become 0 above; this branch always catches that case.
    const double beta = std::sqrt(static_cast<double>(limits.min_pixels) / area);
    new_width = std::ceil(width * beta / factor) * factor;
    new_height = std::ceil(height * beta / factor) * factor;
  }
  return Size{static_cast<int>(new_width), static_cast<int>(new_height)};
}

}  // namespace saccade
