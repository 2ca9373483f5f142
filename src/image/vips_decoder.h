// Opens a picture with libvips and reads its rows. The only file that knows libvips' image type.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "base/status.h"
#include "image/decode.h"
#include "image/upright_writer.h"
#include "image/vips_session.h"

typedef struct _VipsImage VipsImage;

namespace saccade {

struct VipsImageDeleter {
  void operator()(VipsImage* image) const;
};
using VipsImagePtr = std::unique_ptr<VipsImage, VipsImageDeleter>;

// One picture being decoded. Thread-compatible; different pictures may be decoded at the same time.
class VipsDecoder {
 public:
  // Reads the header. `file` must outlive the decoder.
  static Result<std::unique_ptr<VipsDecoder>> Open(ImageKind kind, std::span<const std::byte> file);

  // Everything but decode_bytes.
  ImageInfo Info() const;

  // Decodes all rows into `writer`, which was made for this picture's size. Call once.
  Status Decode(UprightWriter& writer);

 private:
  explicit VipsDecoder(ImageKind kind) : errors_(kind), kind_(kind) {}
  Status MakeReadable();
  Result<PixelLayout> Layout() const;

  VipsErrorScope errors_;  // first member: outlives the image, whose release may log
  ImageKind kind_;
  VipsImagePtr image_;
};

}  // namespace saccade
