// The weights of one axis of the resize.
#pragma once

#include <cstdint>
#include <vector>

#include "image/pixel_kernels.h"

namespace saccade {

// Owns what FilterView points to.
struct AxisFilter {
  std::vector<int32_t> first, count;
  std::vector<int16_t> weights;
  int stride = 0, precision = 0;

  FilterView View() const {
    return {first.data(), count.data(), weights.data(), stride, static_cast<int>(first.size()), precision};
  }
  const int16_t* WeightsOf(int output) const {
    return weights.data() + static_cast<size_t>(output) * static_cast<size_t>(stride);
  }
  int max_count() const;
};

// Mirrors the weights of PyTorch's uint8 upsample with antialias=True, mode bicubic (a = -0.5), sizes >= 1.
AxisFilter MakeAxisFilter(int input, int output);

}  // namespace saccade
