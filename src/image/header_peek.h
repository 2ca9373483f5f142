// What a file claims about itself, read without any decoder: libpng wants pixel data before it reports a
// size, the WebP loader allocates the canvas with the header, and no library tells how often a JPEG makes it
// run over all pixels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "image/sniff.h"

namespace saccade {

struct HeaderPeek {
  int64_t width = 0, height = 0;
  int64_t working_bytes =
      0;               // kept by the decoder besides its output for an interlaced PNG or a JPEG of many scans
  int64_t passes = 1;  // scans of a JPEG; each may touch every pixel
};

// Nothing for TIFF, HEIC and AVIF, whose loaders are cheap to open, for BMP, and for a header that is cut
// short or not understood: the decoder proper then says what is wrong.
std::optional<HeaderPeek> PeekHeader(ImageKind kind, std::span<const std::byte> file);

// Length of a TIFF's chain of directories, at most `at_most` + 1. The loader visits all of them for the
// header of one, at about 7 microseconds each.
int64_t CountTiffPages(std::span<const std::byte> file, int64_t at_most);

}  // namespace saccade
