#include "image/pixel_layout.h"

#include <cstring>

#include "base/check.h"

namespace saccade {
namespace {

// x / 255, rounded, for x already offset by 128 (scaled up for OverWhite).
constexpr uint32_t DivideBy255(uint32_t x) { return ((x >> 8) + x) >> 8; }

uint8_t MultiplyBy255th(uint32_t a, uint32_t b) { return static_cast<uint8_t>(DivideBy255(a * b + 128)); }

// Reads one sample as 8 bits.
template <bool kSixteenBit>
uint8_t Sample(const uint8_t* pixel, int index) {
  if constexpr (!kSixteenBit) return pixel[index];
  uint16_t wide;
  std::memcpy(&wide, pixel + 2 * index, 2);
  return NarrowSample(wide);
}

template <ColourModel kModel, bool kSixteenBit>
void ToRgb(const uint8_t* pixel, uint8_t* rgb) {
  if constexpr (kModel == ColourModel::kGray) {
    rgb[0] = rgb[1] = rgb[2] = Sample<kSixteenBit>(pixel, 0);
  } else if constexpr (kModel == ColourModel::kRgb) {
    for (int c = 0; c < 3; ++c) rgb[c] = Sample<kSixteenBit>(pixel, c);
  } else {
    const uint32_t light = 255u - Sample<kSixteenBit>(pixel, 3);
    for (int c = 0; c < 3; ++c) {
      rgb[c] = static_cast<uint8_t>(light - MultiplyBy255th(Sample<kSixteenBit>(pixel, c), light));
    }
  }
}

template <ColourModel kModel, bool kSixteenBit>
void ConvertRow(const uint8_t* source, const PixelLayout& layout, int width, uint8_t* rgb) {
  const size_t step = layout.pixel_bytes();
  const int alpha_index = layout.colour_samples();
  for (int x = 0; x < width; ++x, source += step, rgb += 3) {
    ToRgb<kModel, kSixteenBit>(source, rgb);
    if (!layout.alpha) continue;
    const uint8_t alpha = Sample<kSixteenBit>(source, alpha_index);
    if (alpha == 255) continue;
    for (int c = 0; c < 3; ++c) rgb[c] = OverWhite(rgb[c], alpha);
  }
}

}  // namespace

uint8_t OverWhite(uint8_t value, uint8_t alpha) {
  // Seven extra bits of precision; the weights of picture and background add up to 255 << 7 exactly.
  constexpr uint32_t kPrecision = 7;
  if (alpha == 0) return 255;
  const uint32_t picture = static_cast<uint32_t>(alpha) << kPrecision;
  const uint32_t background = (255u << kPrecision) - picture;
  const uint32_t sum = value * picture + 255u * background;
  return static_cast<uint8_t>(DivideBy255(sum + (0x80u << kPrecision)) >> kPrecision);
}

void ConvertRowToRgb(const uint8_t* source, const PixelLayout& layout, int width, uint8_t* rgb) {
  SACCADE_DCHECK(layout.samples >= layout.colour_samples() + (layout.alpha ? 1 : 0));
  const bool plain_rgb = layout.model == ColourModel::kRgb && layout.samples == 3 && !layout.sixteen_bit;
  if (plain_rgb) {
    std::memcpy(rgb, source, size_t{3} * static_cast<size_t>(width));
    return;
  }
  using Converter = void (*)(const uint8_t*, const PixelLayout&, int, uint8_t*);
  static constexpr Converter kConverters[3][2] = {
      {ConvertRow<ColourModel::kGray, false>, ConvertRow<ColourModel::kGray, true>},
      {ConvertRow<ColourModel::kRgb, false>, ConvertRow<ColourModel::kRgb, true>},
      {ConvertRow<ColourModel::kCmyk, false>, ConvertRow<ColourModel::kCmyk, true>},
  };
  kConverters[static_cast<int>(layout.model)][layout.sixteen_bit ? 1 : 0](source, layout, width, rgb);
}

}  // namespace saccade
