#include "image/resize_filter.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace saccade {
namespace {

// The bicubic convolution kernel with a = -0.5, written as PyTorch writes it: another order of operations
// rounds some weights differently.
double Cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0;
  if (x < 2.0) return (((x - 5.0) * x + 8.0) * x - 4.0) * a;
  return 0.0;
}

// The largest precision (at most 22 bits) at which the largest weight still fits 16 bits with its sign.
int PrecisionFor(double max_weight) {
  constexpr int kMaxPrecision = 22;
  int precision = 0;
  while (precision < kMaxPrecision &&
         static_cast<int>(0.5 + max_weight * static_cast<double>(1 << (precision + 1))) < (1 << 15)) {
    ++precision;
  }
  return precision;
}

int16_t RoundWeight(double weight, int precision) {
  const double scaled = weight * static_cast<double>(1 << precision);
  return static_cast<int16_t>(static_cast<int>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
}

// The inputs that one output depends on.
struct Taps {
  int first, count;
};

Taps TapsOf(int output, double scale, double support, int input, int max_taps) {
  const double centre = scale * (output + 0.5);
  const int first = std::max(static_cast<int>(centre - support + 0.5), 0);
  const int end = std::min(static_cast<int>(centre + support + 0.5), input);
  return {first, std::clamp(end - first, 0, max_taps)};
}

// Exact weights of these taps; they sum to 1.
void FillWeights(int output, double scale, const Taps& taps, double* weights) {
  const double centre = scale * (output + 0.5), inverse = scale >= 1.0 ? 1.0 / scale : 1.0;
  double total = 0;
  for (int k = 0; k < taps.count; ++k) {
    weights[k] = Cubic((k + taps.first - centre + 0.5) * inverse);
    total += weights[k];
  }
  if (total == 0) return;
  for (int k = 0; k < taps.count; ++k) weights[k] /= total;
}

}  // namespace

int AxisFilter::max_count() const { return *std::max_element(count.begin(), count.end()); }

AxisFilter MakeAxisFilter(int input, int output) {
  SACCADE_CHECK(input > 0 && output > 0);
  const double scale = static_cast<double>(input) / output;
  const double support = scale >= 1.0 ? 2.0 * scale : 2.0;
  const int max_taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  AxisFilter filter;
  filter.stride = (max_taps + 3) / 4 * 4;
  const size_t stride = static_cast<size_t>(filter.stride);
  std::vector<double> exact(static_cast<size_t>(output) * stride);
  for (int i = 0; i < output; ++i) {
    const Taps taps = TapsOf(i, scale, support, input, max_taps);
    FillWeights(i, scale, taps, exact.data() + static_cast<size_t>(i) * stride);
    filter.first.push_back(taps.first);
    filter.count.push_back(taps.count);
  }
  filter.precision = PrecisionFor(*std::max_element(exact.begin(), exact.end()));
  filter.weights.resize(exact.size());
  std::transform(exact.begin(), exact.end(), filter.weights.begin(),
                 [&](double weight) { return RoundWeight(weight, filter.precision); });
  return filter;
}

}  // namespace saccade
