#include "kernels/quantize/quantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "tensor/dtype.h"

namespace saccade {
namespace {

// Below this a group counts as zero: 127 / amax must stay finite.
constexpr float kSmallestMagnitude = 1e-30F;

// The largest magnitude; NaN and infinity win because their bit patterns are the largest.
float LargestMagnitude(const float* x, int64_t count) {
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7fffffffU);
  return std::bit_cast<float>(largest);
}

float RoundToBf16(float value) { return Bf16ToFloat(FloatToBf16(value)); }

// The candidate scale whose codes have the least squared error. `encode(scale, codes)` fills codes and
// returns the error; `largest_level` is the magnitude of the code that the largest weight takes at ratio 1.
template <class Code, class Encode>
float SearchScale(const float* w, float largest_level, int candidates, float first_ratio, float last_ratio,
                  Code* codes, Encode&& encode) {
  const float amax = LargestMagnitude(w, kGroupSize);
  if (!(amax <= std::numeric_limits<float>::max())) {
    std::fill_n(codes, kGroupSize, Code{0});
    return std::numeric_limits<float>::quiet_NaN();
  }
  if (amax < kSmallestMagnitude) {
    encode(0.0F, codes);
    return 0.0F;
  }
  float best_scale = 0.0F;
  float best_error = std::numeric_limits<float>::max();
  std::array<Code, kGroupSize> trial;
  for (int i = 0; i < candidates; ++i) {
    const float ratio =
        first_ratio + (last_ratio - first_ratio) * static_cast<float>(i) / static_cast<float>(candidates - 1);
    for (const float sign : {1.0F, -1.0F}) {
      const float scale = RoundToBf16(sign * ratio * amax / largest_level);
      const float error = encode(scale, trial.data());
      if (error < best_error) {
        best_error = error;
        best_scale = scale;
        std::copy(trial.begin(), trial.end(), codes);
      }
    }
  }
  return best_scale;
}

float EncodeInt8(const float* w, float scale, int8_t* codes) {
  const float inverse = scale == 0.0F ? 0.0F : 1.0F / scale;
  float error = 0.0F;
  for (int i = 0; i < kGroupSize; ++i) {
    const float code = std::clamp(RoundEven(w[i] * inverse), -128.0F, 127.0F);
    codes[i] = static_cast<int8_t>(code);
    const float difference = w[i] - code * scale;
    error += difference * difference;
  }
  return error;
}

// Index of the level nearest to `value`.
uint8_t NearestLevel(float value) {
  int index = 0;
  for (int i = 1; i < 16; ++i) {
    index += value > 0.5F * static_cast<float>(kInt4Levels[i - 1] + kInt4Levels[i]) ? 1 : 0;
  }
  return static_cast<uint8_t>(index);
}

float EncodeInt4(const float* w, float scale, uint8_t* codes) {
  const float inverse = scale == 0.0F ? 0.0F : 1.0F / scale;
  float error = 0.0F;
  for (int i = 0; i < kGroupSize; ++i) {
    codes[i] = NearestLevel(w[i] * inverse);
    const float difference = w[i] - static_cast<float>(kInt4Levels[codes[i]]) * scale;
    error += difference * difference;
  }
  return error;
}

}  // namespace

float QuantizeActivations(const float* x, int64_t count, int8_t* q) {
  const float amax = LargestMagnitude(x, count);
  if (!(amax <= std::numeric_limits<float>::max()) || amax < kSmallestMagnitude) {
    std::fill_n(q, count, int8_t{0});
    return amax < kSmallestMagnitude ? 0.0F : std::numeric_limits<float>::quiet_NaN();
  }
  const float inverse = 127.0F / amax;
  for (int64_t i = 0; i < count; ++i) q[i] = static_cast<int8_t>(RoundEven(x[i] * inverse));
  return amax / 127.0F;
}

float QuantizeInt8Group(const float* w, int8_t* codes) {
  return SearchScale(w, 128.0F, 5, 0.98F, 1.01F, codes,
                     [w](float scale, int8_t* out) { return EncodeInt8(w, scale, out); });
}

float QuantizeInt4Group(const float* w, uint8_t* codes) {
  return SearchScale(w, 127.0F, 20, 0.80F, 1.20F, codes,
                     [w](float scale, uint8_t* out) { return EncodeInt4(w, scale, out); });
}

}  // namespace saccade
