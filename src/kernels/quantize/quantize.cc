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

// A fixed order, so that every ISA finds the same sum.
float SumOf(const std::array<float, kTrialLanes>& lanes) {
  float sum = 0.0F;
  for (int i = 0; i < kTrialLanes / 4; ++i) {
    const auto at = [&lanes, i](int j) { return lanes[static_cast<size_t>(i + j * kTrialLanes / 4)]; };
    sum += (at(0) + at(2)) + (at(1) + at(3));
  }
  return sum;
}

float Inverse(float scale) { return scale == 0.0F ? 0.0F : 1.0F / scale; }

float Int8Code(float value) { return std::clamp(RoundEven(value), -128.0F, 127.0F); }

// How the 4-bit codes follow from a value in units of the scale. The borders between two levels are multiples
// of one half, so the nearest level is a table of doubled values.
class LevelTable {
 public:
  constexpr LevelTable() {
    for (int doubled = -kLimit; doubled <= kLimit; ++doubled) {
      int code = 0;
      for (int i = 1; i < 16; ++i) code += doubled > kInt4Levels[i - 1] + kInt4Levels[i] ? 1 : 0;
      codes_[static_cast<size_t>(doubled + kLimit)] = static_cast<uint8_t>(code);
    }
  }
  uint8_t CodeOf(float value) const {
    const float doubled = std::clamp(2.0F * value, static_cast<float>(-kLimit), static_cast<float>(kLimit));
    const int truncated = static_cast<int>(doubled);
    const int above = truncated + (doubled > static_cast<float>(truncated) ? 1 : 0);
    return codes_[static_cast<size_t>(above + kLimit)];
  }

 private:
  static constexpr int kLimit = 256;
  std::array<uint8_t, 2 * kLimit + 1> codes_ = {};
};

constexpr LevelTable kLevelTable;

float Int4Level(float value) { return static_cast<float>(kInt4Levels[kLevelTable.CodeOf(value)]); }

template <class Level>
void TryScaleWith(const ScaleTrial& trial, Level&& level) {
  const float inverse = 1.0F / trial.scale;
  for (int lane = 0; lane < kTrialLanes; ++lane) {
    float error = 0.0F, product = 0.0F, square = 0.0F;
    for (int i = lane; i < kGroupSize; i += kTrialLanes) {
      const float w = trial.w[i], value = level(w * inverse);
      const float difference = std::fma(-value, trial.scale, w);
      error = std::fma(difference, difference, error);
      product = std::fma(w, value, product);
      square = std::fma(value, value, square);
    }
    trial.errors[lane] = error;
    trial.products[lane] = product;
    trial.squares[lane] = square;
  }
}

struct ScaleSearch {
  float largest_level;  // the level that the largest weight takes at ratio 1
  int candidates;
  float first_ratio, last_ratio;
  int fits;  // steps of alternating minimisation from the best candidate
};

// The scale with the least squared error; 0 for a group of zeros, NaN when a weight is not finite.
float SearchScale(const float* w, const ScaleSearch& search, TryScale try_scale) {
  const float amax = LargestMagnitude(w, kGroupSize);
  if (!(amax <= std::numeric_limits<float>::max())) return std::numeric_limits<float>::quiet_NaN();
  if (amax < kSmallestMagnitude) return 0.0F;
  float best_scale = 0.0F, best_error = std::numeric_limits<float>::max();
  float fitted = 0.0F;  // the scale that fits the levels chosen with best_scale best
  const auto consider = [&](float scale) {
    std::array<float, kTrialLanes> errors, products, squares;
    try_scale({w, scale, errors.data(), products.data(), squares.data()});
    const float error = SumOf(errors);
    if (!(error < best_error)) return false;
    best_error = error;
    best_scale = scale;
    const float square = SumOf(squares);
    fitted = square > 0.0F ? RoundToBf16(SumOf(products) / square) : scale;
    return true;
  };
  const float step = (search.last_ratio - search.first_ratio) / static_cast<float>(search.candidates - 1);
  for (int i = 0; i < search.candidates; ++i) {
    const float ratio = search.first_ratio + step * static_cast<float>(i);
    for (const float sign : {1.0F, -1.0F}) consider(RoundToBf16(sign * ratio * amax / search.largest_level));
  }
  for (int i = 0; i < search.fits && fitted != 0.0F; ++i) {
    if (!consider(fitted)) break;
  }
  return best_scale;
}

// All codes are 0 when the group is broken (its scale is NaN).
template <class Code, class CodeOf>
void EncodeGroup(const float* w, float scale, Code* codes, CodeOf&& code_of) {
  if (std::isnan(scale)) return void(std::fill_n(codes, kGroupSize, Code{}));
  const float inverse = Inverse(scale);
  for (int i = 0; i < kGroupSize; ++i) codes[i] = code_of(w[i] * inverse);
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

void TryScaleInt8(const ScaleTrial& trial) { TryScaleWith(trial, Int8Code); }
void TryScaleInt4(const ScaleTrial& trial) { TryScaleWith(trial, Int4Level); }

float QuantizeInt8Group(const float* w, int8_t* codes, TryScale try_scale) {
  const float scale = SearchScale(w, {128.0F, 5, 0.98F, 1.01F, 0}, try_scale);
  EncodeGroup(w, scale, codes, [](float value) { return static_cast<int8_t>(Int8Code(value)); });
  return scale;
}

float QuantizeInt4Group(const float* w, uint8_t* codes, TryScale try_scale) {
  const float scale = SearchScale(w, {127.0F, 12, 0.76F, 1.24F, 3}, try_scale);
  EncodeGroup(w, scale, codes, [](float value) { return kLevelTable.CodeOf(value); });
  return scale;
}

}  // namespace saccade
