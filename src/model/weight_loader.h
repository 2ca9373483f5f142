// What the two parts of the model ask for when they load: layers by tensor name, in the weight type of the
// part.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "model/weight_source.h"

namespace saccade {

// Matrices that a part may keep more exact than the rest.
enum class Precision : uint8_t {
  kNormal,
  kSensitive,  // at least int8: a few per cent of the bytes, much of the error (docs/accuracy.md)
};

// Thread-compatible.
class WeightLoader {
 public:
  WeightLoader(WeightSource& source, WeightType type) : source_(source), type_(type) {}

  WeightType type() const { return type_; }
  // `name`.weight [outputs, inputs] and, with `bias`, `name`.bias [outputs].
  Result<LinearLayer> Linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias,
                             Precision precision = Precision::kNormal);
  // Several projections of the same input, one below the other (q, k and v).
  Result<LinearLayer> Stacked(std::span<const std::string> names, std::span<const int64_t> outputs,
                              int64_t inputs);
  Result<LinearLayer> GateUp(const std::string& gate, const std::string& up, int64_t outputs, int64_t inputs);
  // A convolution over `frames` equal pictures as one product: `name`.weight [outputs, channels, frames,
  // side, side] summed over its frames, [outputs, channels * side * side].
  Result<LinearLayer> SumOfFrames(const std::string& name, int64_t outputs, int64_t channels, int64_t frames,
                                  int64_t side);
  Result<std::vector<float>> Floats(const std::string& name, std::initializer_list<int64_t> shape) {
    return source_.Floats(name, {shape.begin(), shape.size()});
  }
  Result<std::vector<float>> Vector(const std::string& name, int64_t size) { return Floats(name, {size}); }
  Result<TensorView> Table(const std::string& name, std::initializer_list<int64_t> shape) {
    return source_.Table(name, {shape.begin(), shape.size()});
  }

 private:
  WeightSource& source_;
  const WeightType type_;
};

}  // namespace saccade
