// A weight matrix packed for the kernels together with the memory it lives in.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "kernels/kernels.h"
#include "tensor/weight_store.h"

namespace saccade {

// y = x W^T + b. Immutable after loading; Apply may be called for disjoint outputs one at a time per context.
class LinearLayer {
 public:
  int64_t inputs() const { return matrix_.k; }
  int64_t outputs() const { return matrix_.gate_up ? matrix_.n / 2 : matrix_.n; }
  size_t bytes() const { return matrix_.bytes + bias_.size() * sizeof(float); }
  const PackedMatrix& matrix() const { return matrix_; }

  // x: [rows, inputs()], out: [rows, outputs()], both dense.
  void Apply(KernelContext& context, const float* x, int64_t rows, Epilogue epilogue, float* out) const {
    Linear(context, x, rows, inputs(), matrix_, bias_.empty() ? nullptr : bias_.data(), epilogue, out,
           outputs());
  }

 private:
  friend class WeightLoader;
  PackedMatrix matrix_;
  AlignedBuffer memory_;
  std::vector<float> bias_;
};

// Takes tensors out of a checkpoint and packs them. After each matrix its file pages are released, so that
// the peak is one packed copy plus one tensor.
class WeightLoader {
 public:
  WeightLoader(KernelContext& context, const WeightStore& store, WeightType type)
      : context_(context), store_(store), type_(type) {}

  WeightType type() const { return type_; }
  // `name`.weight [outputs, inputs] and, with `bias`, `name`.bias [outputs].
  Result<LinearLayer> Linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias);
  // Several projections of the same input, one below the other (q, k and v).
  Result<LinearLayer> Stacked(std::span<const std::string> names, std::span<const int64_t> outputs,
                              int64_t inputs);
  Result<LinearLayer> GateUp(const std::string& gate, const std::string& up, int64_t outputs, int64_t inputs);
  // A matrix whose rows were computed by the caller: f32 [outputs, inputs].
  Result<LinearLayer> FromFloats(const std::vector<float>& weight, std::vector<float> bias, int64_t outputs,
                                 int64_t inputs);
  Result<std::vector<float>> Vector(const std::string& name, int64_t size);
  Result<TensorView> Tensor(const std::string& name, std::initializer_list<int64_t> shape) const {
    return store_.Get(name, shape);
  }

 private:
  Status Allocate(LinearLayer& layer, int64_t outputs, int64_t inputs, int64_t copies) const;

  KernelContext& context_;
  const WeightStore& store_;
  const WeightType type_;
};

}  // namespace saccade
