// The antialiased bicubic resize of the reference processor, bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "image/resize_kernels.h"
#include "image/rgb_image.h"

namespace saccade {

// Weights of one axis as 16-bit integers; see FilterView. Exposed for the tests.
struct AxisFilter {
  std::vector<int32_t> first, count;
  std::vector<int16_t> weights;
  int stride = 0, precision = 0;

  FilterView View() const {
    return {first.data(), count.data(), weights.data(), stride, static_cast<int>(first.size()), precision};
  }
  int max_count() const;
};

// Mirrors the weights of PyTorch's uint8 upsample with antialias=True, mode bicubic (a = -0.5), sizes >= 1.
AxisFilter MakeAxisFilter(int input, int output);

// Equal to torchvision's resize(antialias=True, BICUBIC) of an 8-bit tensor: along x first, then along y,
// each rounded and clamped to 8 bits; an axis that keeps its size is left alone. Both sizes at least 1x1.
// Works on a ring of a few rows: no second copy of the picture besides the result. Uses AVX2 where SelectIsa
// allows. Thread-safe.
RgbImage ResizeBicubic(const RgbImage& image, Size size);

// The same with given loops.
RgbImage ResizeBicubicWith(const ResizeKernels& kernels, const RgbImage& image, Size size);

}  // namespace saccade
