#include "model/weight_source.h"

#include <fmt/format.h>

#include <cstring>
#include <numeric>

namespace saccade {
namespace {

std::string TensorNote(DType type, std::span<const int64_t> shape) {
  return fmt::format("{} {}", DTypeName(type), ShapeString(shape));
}

// The shape that source `index` of a matrix has in the checkpoint.
std::vector<int64_t> SourceShape(const MatrixSpec& spec, size_t index) {
  return spec.source_shape.empty() ? std::vector<int64_t>{spec.outputs[index], spec.inputs}
                                   : spec.source_shape;
}

}  // namespace

int64_t MatrixSpec::total_outputs() const {
  return std::accumulate(outputs.begin(), outputs.end(), int64_t{0});
}

size_t MatrixSpec::packed_bytes() const {
  // Gate and up are padded to whole blocks each.
  if (rows == Rows::kGateUp) return 2 * PackedBytes(type, outputs.front(), inputs);
  return PackedBytes(type, total_outputs(), inputs);
}

std::string MatrixSpec::Note() const {
  return fmt::format("{}{} [{}, {}]", WeightTypeName(type), rows == Rows::kGateUp ? " gate and up" : "",
                     total_outputs(), inputs);
}

Status CheckpointSource::Pack(const MatrixSpec& spec, PackedWeight& packed) const {
  std::vector<TensorView> sources;
  for (size_t i = 0; i < spec.sources.size(); ++i) {
    SACCADE_ASSIGN_OR_RETURN(TensorView source, store_.Get(spec.sources[i], SourceShape(spec, i)));
    sources.push_back(std::move(source));
  }
  std::byte* memory = packed.memory.data();
  packed.matrix = spec.rows == MatrixSpec::Rows::kGateUp
                      ? PackGateUp(context_, spec.type, sources[0], sources[1], memory)
                      : PackStacked(context_, spec.type, sources, memory);
  for (const TensorView& source : sources) store_.Release(source);
  return OkStatus();
}

Status CheckpointSource::PackSumOfFrames(const MatrixSpec& spec, PackedWeight& packed) const {
  SACCADE_ASSIGN_OR_RETURN(const TensorView weight, store_.Get(spec.sources[0], spec.source_shape));
  const std::vector<float> full = ToFloats(weight);
  const int64_t channels = spec.source_shape[1], area = spec.inputs / channels;
  std::vector<float> summed(static_cast<size_t>(spec.total_outputs() * spec.inputs), 0.0F);
  for (int64_t row = 0; row < spec.total_outputs() * channels; ++row) {
    for (int64_t frame = 0; frame < spec.frames; ++frame) {
      const float* source = full.data() + (row * spec.frames + frame) * area;
      float* target = summed.data() + row * area;
      for (int64_t i = 0; i < area; ++i) target[i] += source[i];
    }
  }
  const TensorView view{DType::kF32, {spec.total_outputs(), spec.inputs}, std::as_bytes(std::span(summed))};
  packed.matrix = PackMatrix(context_, spec.type, view, packed.memory.data());
  return OkStatus();
}

Result<PackedWeight> CheckpointSource::Matrix(const MatrixSpec& spec) {
  PackedWeight packed;
  packed.memory = AlignedBuffer(spec.packed_bytes());
  if (!packed.memory.ok()) return ResourceExhausted("no memory for {} bytes of weights", spec.packed_bytes());
  SACCADE_RETURN_IF_ERROR(spec.rows == MatrixSpec::Rows::kSumOfFrames ? PackSumOfFrames(spec, packed)
                                                                      : Pack(spec, packed));
  if (writer_ == nullptr) return packed;
  SACCADE_RETURN_IF_ERROR(writer_->Add(spec.name, spec.Note(), {packed.matrix.data, packed.matrix.bytes}));
  packed.matrix.data = nullptr;
  packed.memory = AlignedBuffer();
  return packed;
}

Result<std::vector<float>> CheckpointSource::Floats(const std::string& name, std::span<const int64_t> shape) {
  SACCADE_ASSIGN_OR_RETURN(const TensorView tensor, store_.Get(name, shape));
  std::vector<float> values = ToFloats(tensor);
  if (writer_ != nullptr) {
    SACCADE_RETURN_IF_ERROR(
        writer_->Add(name, TensorNote(DType::kF32, shape), std::as_bytes(std::span(values))));
  }
  return values;
}

Result<TensorView> CheckpointSource::Table(const std::string& name, std::span<const int64_t> shape) {
  SACCADE_ASSIGN_OR_RETURN(TensorView tensor, store_.Get(name, shape));
  if (writer_ != nullptr) {
    SACCADE_RETURN_IF_ERROR(writer_->Add(name, TensorNote(tensor.dtype, shape), tensor.bytes));
  }
  store_.Release(tensor);
  return tensor;
}

Result<PackedWeight> PackFileSource::Matrix(const MatrixSpec& spec) {
  SACCADE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes, file_.Find(spec.name, spec.Note()));
  if (bytes.size() != spec.packed_bytes()) {
    return InvalidArgument("block \"{}\" of {} has {} bytes, expected {}", spec.name, file_.path().string(),
                           bytes.size(), spec.packed_bytes());
  }
  PackedWeight packed;
  packed.matrix = {spec.type,    spec.total_outputs(), spec.inputs, spec.rows == MatrixSpec::Rows::kGateUp,
                   bytes.data(), bytes.size()};
  return packed;
}

namespace {

Status CheckSize(const PackFile& file, const std::string& name, size_t bytes, const TensorView& expected) {
  const auto wanted = static_cast<size_t>(expected.elements() * DTypeBytes(expected.dtype));
  if (bytes == wanted) return OkStatus();
  return InvalidArgument("block \"{}\" of {} has {} bytes, expected {}", name, file.path().string(), bytes,
                         wanted);
}

}  // namespace

Result<std::vector<float>> PackFileSource::Floats(const std::string& name, std::span<const int64_t> shape) {
  SACCADE_ASSIGN_OR_RETURN(const std::span<const std::byte> bytes,
                           file_.Find(name, TensorNote(DType::kF32, shape)));
  const TensorView tensor{DType::kF32, {shape.begin(), shape.end()}, bytes};
  SACCADE_RETURN_IF_ERROR(CheckSize(file_, name, bytes.size(), tensor));
  return ToFloats(tensor);
}

Result<TensorView> PackFileSource::Table(const std::string& name, std::span<const int64_t> shape) {
  const PackEntry* entry = file_.Entry(name);
  for (const DType type : {DType::kBf16, DType::kF16, DType::kF32}) {
    if (entry == nullptr || entry->note != TensorNote(type, shape)) continue;
    TensorView tensor{type, {shape.begin(), shape.end()}, file_.Bytes(*entry)};
    SACCADE_RETURN_IF_ERROR(CheckSize(file_, name, tensor.bytes.size(), tensor));
    file_.Release(*entry);
    return tensor;
  }
  return InvalidArgument("{} lacks table \"{}\" with shape {}", file_.path().string(), name,
                         ShapeString(shape));
}

}  // namespace saccade
