#include "image/resize.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/cpu.h"

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

const ResizeKernels& BestKernels() {
  static const ResizeKernels& best = []() -> const ResizeKernels& {
    const Result<Isa> isa = SelectIsa();
    const ResizeKernels* avx2 = Avx2ResizeKernels();
    return isa.ok() && *isa >= Isa::kAvx2 && avx2 != nullptr ? *avx2 : PlainResizeKernels();
  }();
  return best;
}

// Source rows as the vertical pass wants them: filtered along x when the width changes, kept in a ring just
// large enough for one output row. Rows are asked for in ascending windows.
class RowSource {
 public:
  RowSource(const ResizeKernels& kernels, const RgbImage& image, int new_width, int ring_rows)
      : kernels_(kernels), image_(image), ring_rows_(ring_rows) {
    if (new_width == image.width) return;
    filter_ = MakeAxisFilter(image.width, new_width);
    row_bytes_ = size_t{3} * static_cast<size_t>(new_width);
    ring_.resize(row_bytes_ * static_cast<size_t>(ring_rows));
    padded_.resize(image.row_bytes() + kResizeRowPadding);
  }

  const uint8_t* Row(int y) {
    if (ring_.empty()) return Source(y);
    for (; next_ <= y; ++next_) FilterInto(Slot(next_), next_);
    return Slot(y);
  }

  // Filters row `y` to where the caller wants it; for pictures whose height does not change.
  void FilterInto(uint8_t* out, int y) {
    const uint8_t* source = Source(y);
    const size_t end = static_cast<size_t>(y + 1) * image_.row_bytes();
    if (end + kResizeRowPadding > image_.pixels.size()) {
      std::memcpy(padded_.data(), source, image_.row_bytes());
      source = padded_.data();
    }
    kernels_.filter_row(source, filter_.View(), out);
  }

 private:
  const uint8_t* Source(int y) const {
    return image_.pixels.data() + static_cast<size_t>(y) * image_.row_bytes();
  }
  uint8_t* Slot(int y) { return ring_.data() + row_bytes_ * static_cast<size_t>(y % ring_rows_); }

  const ResizeKernels& kernels_;
  const RgbImage& image_;
  const int ring_rows_;
  AxisFilter filter_;
  size_t row_bytes_ = 0;
  std::vector<uint8_t> ring_, padded_;
  int next_ = 0;  // first row that is not in the ring yet
};

void ResizeVertically(const ResizeKernels& kernels, const RgbImage& image, RgbImage& out) {
  const AxisFilter filter = MakeAxisFilter(image.height, out.height);
  RowSource source(kernels, image, out.width, filter.max_count());
  std::vector<const uint8_t*> rows(static_cast<size_t>(filter.max_count()));
  for (int y = 0; y < out.height; ++y) {
    const size_t i = static_cast<size_t>(y);
    const int count = filter.count[i];
    for (int k = 0; k < count; ++k) rows[static_cast<size_t>(k)] = source.Row(filter.first[i] + k);
    kernels.blend_rows(rows.data(), filter.weights.data() + i * static_cast<size_t>(filter.stride), count,
                       filter.precision, out.row_bytes(), out.pixels.data() + i * out.row_bytes());
  }
}

}  // namespace

int AxisFilter::max_count() const { return *std::max_element(count.begin(), count.end()); }

AxisFilter MakeAxisFilter(int input, int output) {
  SACCADE_CHECK(input > 0 && output > 0);
  const double scale = static_cast<double>(input) / output;
  const double support = scale >= 1.0 ? 2.0 * scale : 2.0;
  const double inverse = scale >= 1.0 ? 1.0 / scale : 1.0;
  const int max_taps = static_cast<int>(std::ceil(support)) * 2 + 1;
  AxisFilter filter;
  filter.stride = (max_taps + 3) / 4 * 4;
  const size_t outputs = static_cast<size_t>(output), stride = static_cast<size_t>(filter.stride);
  filter.first.resize(outputs);
  filter.count.resize(outputs);
  std::vector<double> exact(outputs * stride);
  double max_weight = 0;
  for (size_t i = 0; i < outputs; ++i) {
    const double centre = scale * (static_cast<double>(i) + 0.5);
    const int first = std::max(static_cast<int>(centre - support + 0.5), 0);
    const int end = std::min(static_cast<int>(centre + support + 0.5), input);
    const int count = std::clamp(end - first, 0, max_taps);
    double* weights = exact.data() + i * stride;
    double total = 0;
    for (int k = 0; k < count; ++k) total += weights[k] = Cubic((k + first - centre + 0.5) * inverse);
    for (int k = 0; k < count && total != 0; ++k) {
      weights[k] /= total;
      max_weight = std::max(max_weight, weights[k]);
    }
    filter.first[i] = first;
    filter.count[i] = count;
  }
  filter.precision = PrecisionFor(max_weight);
  filter.weights.resize(exact.size());
  std::transform(exact.begin(), exact.end(), filter.weights.begin(),
                 [&](double weight) { return RoundWeight(weight, filter.precision); });
  return filter;
}

RgbImage ResizeBicubicWith(const ResizeKernels& kernels, const RgbImage& image, Size size) {
  SACCADE_CHECK(size.width > 0 && size.height > 0 && image.width > 0 && image.height > 0);
  SACCADE_CHECK(image.pixels.size() == image.row_bytes() * static_cast<size_t>(image.height));
  if (size == image.size()) return image;
  RgbImage out;
  out.width = size.width;
  out.height = size.height;
  out.pixels.resize(static_cast<size_t>(size.pixels()) * 3);
  if (size.height != image.height) {
    ResizeVertically(kernels, image, out);
    return out;
  }
  RowSource source(kernels, image, size.width, 1);
  for (int y = 0; y < size.height; ++y) {
    source.FilterInto(out.pixels.data() + static_cast<size_t>(y) * out.row_bytes(), y);
  }
  return out;
}

RgbImage ResizeBicubic(const RgbImage& image, Size size) {
  return ResizeBicubicWith(BestKernels(), image, size);
}

}  // namespace saccade
