// From the bytes of a picture file to upright RGB pixels. Every byte is foreign: nothing here trusts one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "image/rgb_image.h"
#include "image/sniff.h"

namespace saccade {

// All are compared with what the header claims, before anything of that size is allocated or decoded.
struct DecodeLimits {
  int64_t max_pixels = 100'000'000;
  int64_t max_file_bytes = int64_t{256} << 20;
  // Output and whole-picture buffers of the decoder together (a progressive JPEG keeps all its coefficients).
  int64_t max_memory_bytes = int64_t{1280} << 20;
};

// What the header says.
struct ImageInfo {
  ImageKind kind = ImageKind::kJpeg;
  int width = 0, height = 0;  // as stored; see UprightSizeOf
  int orientation = 1;        // EXIF 1..8; HEIC and AVIF are turned by their decoder and report 1
  int frames = 1;             // of an animation, or pages; the first is the one that is decoded
  int64_t decode_bytes = 0;   // estimated peak of DecodeImage, its result included
};

// Size after the orientation was applied: what the model and any boxes refer to.
Size UprightSizeOf(const ImageInfo& info);

// Starts libvips once per process: untrusted loaders blocked, no operation cache, one thread, log messages of
// libvips and GLib kept from stderr. DecodeImage and ProbeImage call it (70 ms the first time); a server
// calls it early to report the error at start. The AV1 and HEVC decoders behind libheif still print a line of
// fixed text about some damaged AVIF and HEIC files; no interface reaches their loggers. Thread-safe.
Status InitImageLibrary();

// Reads the header only and applies `limits`. Thread-safe.
Result<ImageInfo> ProbeImage(std::span<const std::byte> file, const DecodeLimits& limits = {});

// First frame or page, upright (EXIF), palettes expanded, 16 bits scaled by 1/257, alpha composed over white,
// CMYK through its embedded profile or, without one, multiplied out as Pillow does. RGB profiles are ignored
// as the reference ignores them. A damaged or truncated first frame is an error, never half a picture.
// Thread-safe. Runs on the calling thread (decoders of WebP, HEIC and AVIF may start a helper), touches no
// disk and uses no more memory than ImageInfo::decode_bytes.
Result<RgbImage> DecodeImage(std::span<const std::byte> file, const DecodeLimits& limits = {});

}  // namespace saccade
