// A weight matrix packed for the kernels, with its bias.
#pragma once

#include <vector>

#include "base/aligned_buffer.h"
#include "kernels/kernels.h"

namespace saccade {

// A packed matrix and, unless its bytes belong to a mapped file, the memory it lies in.
struct PackedWeight {
  PackedMatrix matrix;
  AlignedBuffer memory;
};

// y = x W^T + b. Immutable after loading; Apply may be called for disjoint outputs one at a time per context.
class LinearLayer {
 public:
  LinearLayer() = default;
  LinearLayer(PackedWeight weight, std::vector<float> bias)
      : weight_(std::move(weight)), bias_(std::move(bias)) {}

  int64_t inputs() const { return matrix().k; }
  int64_t outputs() const { return matrix().gate_up ? matrix().n / 2 : matrix().n; }
  size_t bytes() const { return matrix().bytes + bias_.size() * sizeof(float); }
  const PackedMatrix& matrix() const { return weight_.matrix; }

  // x: [rows, inputs()], out: [rows, outputs()], both dense.
  void Apply(KernelContext& context, const float* x, int64_t rows, Epilogue epilogue, float* out) const {
    Linear(context, x, rows, inputs(), matrix(), bias_.empty() ? nullptr : bias_.data(), epilogue, out,
           outputs());
  }

 private:
  PackedWeight weight_;
  std::vector<float> bias_;
};

}  // namespace saccade
