// The obvious form of the resize loops.
#include <algorithm>
#include <cstring>

#include "image/resize_kernels.h"

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

}  // namespace

const ResizeKernels& PlainResizeKernels() {
  static constexpr ResizeKernels kernels = {FilterRow, BlendRows};
  return kernels;
}

}  // namespace saccade
