#include "tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "base/check.h"

namespace saccade {

std::string ShapeString(std::span<const int64_t> shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string TensorView::ShapeString() const { return saccade::ShapeString(shape); }

void CopyAsFloat(const TensorView& tensor, float* out) {
  const int64_t count = tensor.elements();
  const std::byte* source = tensor.bytes.data();
  switch (tensor.dtype) {
    case DType::kF32:
      std::memcpy(out, source, static_cast<size_t>(count) * 4);
      return;
    case DType::kBf16:
    case DType::kF16:
      for (int64_t i = 0; i < count; ++i) {
        uint16_t bits = 0;
        std::memcpy(&bits, source + 2 * i, 2);
        out[i] = tensor.dtype == DType::kBf16 ? Bf16ToFloat(bits) : F16ToFloat(bits);
      }
      return;
    default:
      SACCADE_CHECK(false && "CopyAsFloat needs a floating point tensor");
  }
}

std::vector<float> ToFloats(const TensorView& tensor) {
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  CopyAsFloat(tensor, values.data());
  return values;
}

}  // namespace saccade
