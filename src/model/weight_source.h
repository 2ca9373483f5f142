// Where the weights of a model come from: tensors of a checkpoint that are packed now, or blocks of a weight
// file that were packed before. Both give the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/linear_layer.h"
#include "tensor/pack_file.h"
#include "tensor/weight_store.h"

namespace saccade {

// One packed matrix and how its rows are made of checkpoint tensors.
struct MatrixSpec {
  enum class Rows : uint8_t {
    kStacked,     // the sources one below the other
    kGateUp,      // two sources interleaved for Epilogue::kSwiGlu
    kSumOfFrames  // one source [n, channels, frames, area] summed over its frames: k = channels * area
  };
  std::string name;                  // of the packed block
  std::vector<std::string> sources;  // tensor names
  std::vector<int64_t> outputs;      // rows of each source
  int64_t inputs = 0;
  WeightType type = WeightType::kF32;
  Rows rows = Rows::kStacked;
  int64_t frames = 1;
  std::vector<int64_t> source_shape = {};  // when it is not [outputs, inputs]

  int64_t total_outputs() const;
  size_t packed_bytes() const;
  // What the block is, e.g. "int8 [2048, 6144]"; a weight file whose note differs is not used.
  std::string Note() const;
};

// Thread-compatible.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual Result<PackedWeight> Matrix(const MatrixSpec& spec) = 0;
  virtual Result<std::vector<float>> Floats(const std::string& name, std::span<const int64_t> shape) = 0;
  // A tensor that is read row by row where it lies (the embedding table).
  virtual Result<TensorView> Table(const std::string& name, std::span<const int64_t> shape) = 0;
};

// Packs tensors of a checkpoint. After each matrix its file pages are released, so that the peak is one
// packed copy plus one tensor. With a writer everything goes to the weight file instead and nothing stays in
// memory: the matrices have no data then.
class CheckpointSource : public WeightSource {
 public:
  // `store` and `writer` outlive the source; `writer` may be null.
  CheckpointSource(KernelContext& context, const WeightStore& store, PackWriter* writer)
      : context_(context), store_(store), writer_(writer) {}

  Result<PackedWeight> Matrix(const MatrixSpec& spec) override;
  Result<std::vector<float>> Floats(const std::string& name, std::span<const int64_t> shape) override;
  Result<TensorView> Table(const std::string& name, std::span<const int64_t> shape) override;

 private:
  Status Pack(const MatrixSpec& spec, PackedWeight& packed) const;
  Status PackSumOfFrames(const MatrixSpec& spec, PackedWeight& packed) const;

  KernelContext& context_;
  const WeightStore& store_;
  PackWriter* const writer_;
};

// Views of a weight file. Matrices and tables point into it: it outlives the model.
class PackFileSource : public WeightSource {
 public:
  explicit PackFileSource(const PackFile& file) : file_(file) {}

  Result<PackedWeight> Matrix(const MatrixSpec& spec) override;
  Result<std::vector<float>> Floats(const std::string& name, std::span<const int64_t> shape) override;
  Result<TensorView> Table(const std::string& name, std::span<const int64_t> shape) override;

 private:
  const PackFile& file_;
};

}  // namespace saccade
