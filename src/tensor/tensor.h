// A non-owning view of a dense row-major tensor. No arithmetic lives here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensor/dtype.h"

namespace saccade {

// Value type. The bytes belong to somebody else (a mapped file, a vector) and must outlive the view.
struct TensorView {
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  std::span<const std::byte> bytes;  // exactly elements() * DTypeBytes(dtype); alignment is that of the file

  int64_t elements() const {
    int64_t count = 1;
    for (int64_t dim : shape) count *= dim;
    return count;
  }
  // "[2048, 6144]" for messages.
  std::string ShapeString() const;
};

std::string ShapeString(std::span<const int64_t> shape);

// Copies the tensor as floats (f32, f16 and bf16 sources; exact). `out` has elements() entries.
void CopyAsFloat(const TensorView& tensor, float* out);
std::vector<float> ToFloats(const TensorView& tensor);

}  // namespace saccade
