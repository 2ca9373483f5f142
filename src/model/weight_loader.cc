#include "model/weight_loader.h"

#include <numeric>

namespace saccade {

Result<LinearLayer> WeightLoader::Linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias,
                                         Precision precision) {
  MatrixSpec spec{name, {name + ".weight"}, {outputs}, inputs, type_};
  if (precision == Precision::kSensitive && type_ == WeightType::kInt4) spec.type = WeightType::kInt8;
  SACCADE_ASSIGN_OR_RETURN(PackedWeight weight, source_.Matrix(spec));
  if (!bias) return LinearLayer(std::move(weight), {});
  SACCADE_ASSIGN_OR_RETURN(std::vector<float> values, Vector(name + ".bias", outputs));
  return LinearLayer(std::move(weight), std::move(values));
}

Result<LinearLayer> WeightLoader::Stacked(std::span<const std::string> names,
                                          std::span<const int64_t> outputs, int64_t inputs) {
  MatrixSpec spec{names[0] + " and the rest", {}, {outputs.begin(), outputs.end()}, inputs, type_};
  for (const std::string& name : names) spec.sources.push_back(name + ".weight");
  SACCADE_ASSIGN_OR_RETURN(PackedWeight weight, source_.Matrix(spec));
  return LinearLayer(std::move(weight), {});
}

Result<LinearLayer> WeightLoader::GateUp(const std::string& gate, const std::string& up, int64_t outputs,
                                         int64_t inputs) {
  MatrixSpec spec{gate + " and up", {gate + ".weight", up + ".weight"}, {outputs, outputs}, inputs, type_};
  spec.rows = MatrixSpec::Rows::kGateUp;
  SACCADE_ASSIGN_OR_RETURN(PackedWeight weight, source_.Matrix(spec));
  return LinearLayer(std::move(weight), {});
}

Result<LinearLayer> WeightLoader::SumOfFrames(const std::string& name, int64_t outputs, int64_t channels,
                                              int64_t frames, int64_t side) {
  MatrixSpec spec{name, {name + ".weight"}, {outputs}, channels * side * side, type_};
  spec.rows = MatrixSpec::Rows::kSumOfFrames;
  spec.frames = frames;
  spec.source_shape = {outputs, channels, frames, side, side};
  SACCADE_ASSIGN_OR_RETURN(PackedWeight weight, source_.Matrix(spec));
  SACCADE_ASSIGN_OR_RETURN(std::vector<float> bias, Vector(name + ".bias", outputs));
  return LinearLayer(std::move(weight), std::move(bias));
}

}  // namespace saccade
