// Tells from its first bytes what a file is. Names and content types that a client claims are never
// consulted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace saccade {

// The allow-list. A decoder sees a file only after its magic matched one of these.
enum class ImageKind : uint8_t { kJpeg, kPng, kWebp, kGif, kTiff, kBmp, kHeic, kAvif };

// "JPEG", "PNG", ...: for messages and logs.
std::string_view ImageKindName(ImageKind kind);

// "JPEG, PNG, WebP, GIF, TIFF, BMP, HEIC and AVIF": what an error message lists as accepted.
std::string AcceptedKinds();

// The kind, or kInvalidArgument that names what was found instead, as far as it can be recognised.
Result<ImageKind> SniffImage(std::span<const std::byte> file);

// "a PDF document", "an SVG drawing", "text", "unknown data (first bytes 01 02 03 04)": what `file` is when
// it is none of the accepted kinds.
std::string DescribeForeignData(std::span<const std::byte> file);

}  // namespace saccade
