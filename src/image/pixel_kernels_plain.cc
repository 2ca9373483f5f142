// The obvious form of the loops, and the choice between the forms.
#include <algorithm>

#include "base/cpu.h"
#include "image/pixel_kernels.h"

namespace saccade {
namespace {

uint8_t RoundAndClamp(int32_t sum, int precision) {
  return static_cast<uint8_t>(std::clamp(sum >> precision, 0, 255));
}

void FilterRow(const uint8_t* source, const FilterView& filter, uint8_t* out) {
  const int32_t half = 1 << (filter.precision - 1);
  for (int i = 0; i < filter.outputs; ++i, out += 3) {
    const uint8_t* pixel = source + ptrdiff_t{3} * filter.first[i];
    const int16_t* weights = filter.weights + static_cast<ptrdiff_t>(filter.stride) * i;
    int32_t red = half, green = half, blue = half;
    for (int k = 0; k < filter.count[i]; ++k, pixel += 3) {
      red += weights[k] * pixel[0];
      green += weights[k] * pixel[1];
      blue += weights[k] * pixel[2];
    }
    out[0] = RoundAndClamp(red, filter.precision);
    out[1] = RoundAndClamp(green, filter.precision);
    out[2] = RoundAndClamp(blue, filter.precision);
  }
}

void BlendRows(const uint8_t* const* rows, const int16_t* weights, int count, int precision, size_t bytes,
               uint8_t* out) {
  // Sums of one block stay in the L1 cache while all rows are added to it.
  constexpr size_t kBlock = 1024;
  int32_t sums[kBlock];
  for (size_t start = 0; start < bytes; start += kBlock) {
    const size_t n = std::min(kBlock, bytes - start);
    std::fill_n(sums, n, 1 << (precision - 1));
    for (int k = 0; k < count; ++k) {
      const uint8_t* row = rows[k] + start;
      const int16_t weight = weights[k];
      for (size_t i = 0; i < n; ++i) sums[i] += weight * static_cast<int16_t>(row[i]);
    }
    for (size_t i = 0; i < n; ++i) out[start + i] = RoundAndClamp(sums[i], precision);
  }
}

void CutPatch(const uint8_t* source, size_t row_bytes, size_t patch_size, uint8_t* patch) {
  const size_t plane = patch_size * patch_size;
  for (size_t y = 0; y < patch_size; ++y, source += row_bytes, patch += patch_size) {
    for (size_t x = 0; x < patch_size; ++x) {
      for (size_t c = 0; c < 3; ++c) patch[c * plane + x] = source[3 * x + c];
    }
  }
}

const PixelKernels& ChooseKernels() {
  const Result<Isa> isa = SelectIsa();
  const PixelKernels* avx2 = Avx2PixelKernels();
  return isa.ok() && *isa >= Isa::kAvx2 && avx2 != nullptr ? *avx2 : PlainPixelKernels();
}

}  // namespace

const PixelKernels& PlainPixelKernels() {
  static constexpr PixelKernels kernels = {"plain", FilterRow, BlendRows, CutPatch};
  return kernels;
}

const PixelKernels& BestPixelKernels() {
  static const PixelKernels& best = ChooseKernels();
  return best;
}

}  // namespace saccade
