// How the samples of a decoded row lie in memory, and the one place that turns any of them into 8-bit RGB.
#pragma once

#include <cstddef>
#include <cstdint>

namespace saccade {

enum class ColourModel : uint8_t { kGray, kRgb, kCmyk };

// Interleaved samples in native byte order. `samples` may exceed what model and alpha need; the rest is
// ignored.
struct PixelLayout {
  ColourModel model = ColourModel::kRgb;
  int samples = 3;           // per pixel
  bool alpha = false;        // follows the colour samples; not premultiplied
  bool sixteen_bit = false;  // otherwise 8 bits per sample

  int colour_samples() const { return model == ColourModel::kGray ? 1 : model == ColourModel::kRgb ? 3 : 4; }
  size_t pixel_bytes() const { return static_cast<size_t>(samples) * (sixteen_bit ? 2 : 1); }
};

// 16 to 8 bits: v / 257 rounded, so that 65535 becomes 255 and every 8-bit value repeated in both bytes
// survives.
inline uint8_t NarrowSample(uint16_t value) { return static_cast<uint8_t>((value + 128u) / 257u); }

// One channel over white, with the integer arithmetic of Pillow's alpha_composite on an opaque white
// background.
uint8_t OverWhite(uint8_t value, uint8_t alpha);

// Converts `width` pixels to RGB: grey is repeated, CMYK (0 = no ink) multiplies out as Pillow does, alpha is
// composed over white. `source` and `rgb` must not overlap.
void ConvertRowToRgb(const uint8_t* source, const PixelLayout& layout, int width, uint8_t* rgb);

}  // namespace saccade
