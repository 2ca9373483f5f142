#include "model/packed_weight.h"

namespace saccade {

Status WeightLoader::Allocate(LinearLayer& layer, int64_t outputs, int64_t inputs, int64_t copies) const {
  const size_t bytes = PackedBytes(type_, outputs, inputs) * static_cast<size_t>(copies);
  layer.memory_ = AlignedBuffer(bytes);
  if (!layer.memory_.ok()) return ResourceExhausted("no memory for {} bytes of weights", bytes);
  return OkStatus();
}

Result<LinearLayer> WeightLoader::Linear(const std::string& name, int64_t outputs, int64_t inputs,
                                         bool bias) {
  SACCADE_ASSIGN_OR_RETURN(const TensorView weight, store_.Get(name + ".weight", {outputs, inputs}));
  LinearLayer layer;
  SACCADE_RETURN_IF_ERROR(Allocate(layer, outputs, inputs, 1));
  layer.matrix_ = PackMatrix(context_, type_, weight, layer.memory_.data());
  store_.Release(weight);
  if (bias) {
    SACCADE_ASSIGN_OR_RETURN(layer.bias_, Vector(name + ".bias", outputs));
  }
  return layer;
}

Result<LinearLayer> WeightLoader::Stacked(std::span<const std::string> names,
                                          std::span<const int64_t> outputs, int64_t inputs) {
  std::vector<TensorView> sources;
  int64_t total = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    SACCADE_ASSIGN_OR_RETURN(TensorView source, store_.Get(names[i] + ".weight", {outputs[i], inputs}));
    sources.push_back(std::move(source));
    total += outputs[i];
  }
  LinearLayer layer;
  SACCADE_RETURN_IF_ERROR(Allocate(layer, total, inputs, 1));
  layer.matrix_ = PackStacked(context_, type_, sources, layer.memory_.data());
  for (const TensorView& source : sources) store_.Release(source);
  return layer;
}

Result<LinearLayer> WeightLoader::GateUp(const std::string& gate, const std::string& up, int64_t outputs,
                                         int64_t inputs) {
  SACCADE_ASSIGN_OR_RETURN(const TensorView gate_weight, store_.Get(gate + ".weight", {outputs, inputs}));
  SACCADE_ASSIGN_OR_RETURN(const TensorView up_weight, store_.Get(up + ".weight", {outputs, inputs}));
  LinearLayer layer;
  SACCADE_RETURN_IF_ERROR(Allocate(layer, outputs, inputs, 2));
  layer.matrix_ = PackGateUp(context_, type_, gate_weight, up_weight, layer.memory_.data());
  store_.Release(gate_weight);
  store_.Release(up_weight);
  return layer;
}

Result<LinearLayer> WeightLoader::FromFloats(const std::vector<float>& weight, std::vector<float> bias,
                                             int64_t outputs, int64_t inputs) {
  const TensorView view{DType::kF32, {outputs, inputs}, std::as_bytes(std::span(weight))};
  LinearLayer layer;
  SACCADE_RETURN_IF_ERROR(Allocate(layer, outputs, inputs, 1));
  layer.matrix_ = PackMatrix(context_, type_, view, layer.memory_.data());
  layer.bias_ = std::move(bias);
  return layer;
}

Result<std::vector<float>> WeightLoader::Vector(const std::string& name, int64_t size) {
  SACCADE_ASSIGN_OR_RETURN(const TensorView tensor, store_.Get(name, {size}));
  return ToFloats(tensor);
}

}  // namespace saccade
