#include "documents/png.h"

#include <png.h>

namespace saccade {

Result<std::vector<std::byte>> EncodePng(const void* rgb, int width, int height, int row_bytes) {
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = PNG_FORMAT_RGB;
  image.flags = PNG_IMAGE_FLAG_FAST;
  std::vector<std::byte> png(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = png.size();
  if (png_image_write_to_memory(&image, png.data(), &size, 0, rgb, row_bytes, nullptr) == 0) {
    return Internal("a page could not be stored as PNG: {}", image.message);
  }
  png.resize(size);
  png.shrink_to_fit();
  return png;
}

}  // namespace saccade
