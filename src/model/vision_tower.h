// The vision tower: patches of pictures in, image embeddings and DeepStack features out.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "model/config.h"
#include "model/mrope.h"
#include "model/weight_loader.h"

namespace saccade {

inline constexpr float kVisionNormEps = 1e-6F;  // fixed in the reference, not part of config.json

// One picture as the image layer prepares it. `patches`: [grid.patches(), 3, patch_size, patch_size] bytes in
// merge-block order; they must outlive the job that reads them. A pixel p of channel c enters the tower as
// p * scale[c] + offset[c].
struct VisionPicture {
  GridThw grid;
  std::span<const uint8_t> patches;
  std::array<float, 3> scale = {1, 1, 1}, offset = {0, 0, 0};
};

// What the text decoder needs of one picture: `merged` and each of `deepstack` are [tokens, text hidden].
struct ImageFeatures {
  int64_t tokens = 0;
  std::vector<float> merged;
  std::vector<std::vector<float>> deepstack;
  size_t bytes() const { return (1 + deepstack.size()) * merged.size() * sizeof(float); }
};

// Norm, 2x2 shuffle and a two-layer MLP: [patches, hidden] -> [patches / 4, out]. The main merger normalises
// each patch before the shuffle, the DeepStack ones the shuffled row after it (use_postshuffle_norm).
class PatchMerger {
 public:
  static Result<PatchMerger> Load(WeightLoader& loader, const VisionConfig& config, const std::string& name,
                                  bool norm_after_shuffle);
  // x: [tokens * merged_patches, hidden]; scratch holds 2 * tokens * merged_patches * hidden floats.
  void Apply(KernelContext& context, const float* x, int64_t tokens, float* scratch, float* out) const;
  size_t bytes() const { return fc1_.bytes() + fc2_.bytes(); }

 private:
  std::vector<float> norm_weight_, norm_bias_;
  bool norm_after_shuffle_ = false;
  int64_t hidden_ = 0, merged_patches_ = 0;
  LinearLayer fc1_, fc2_;
};

class VisionTower;

// The state of one packed group of pictures on its way through the tower. Engine thread only. Memory is
// linear in the patches of the group and is freed with the job.
class VisionJob {
 public:
  // Layers finished and to do, the mergers included.
  int layers_done() const { return layer_; }
  int layers_total() const { return total_layers_; }
  bool done() const { return layer_ == total_layers_; }
  int64_t patches() const { return patches_; }
  // The result, one entry per picture in order; call once, when done().
  std::vector<ImageFeatures> TakeFeatures() { return std::move(features_); }

 private:
  friend class VisionTower;
  std::vector<VisionPicture> pictures_;
  std::vector<int64_t> starts_;          // first patch of every picture, and the end
  std::vector<int64_t> picture_starts_;  // the same per picture; a picture may have several frames
  std::vector<int32_t> rows_, columns_;  // coordinates of every patch
  int64_t patches_ = 0;
  int layer_ = 0, total_layers_ = 0;
  // Where the next slice begins: patches of the phase that are done, and for the attention the frame and
  // head.
  enum class Phase : uint8_t { kEmbed, kQkv, kAttention, kMlp, kDeepStack, kMerge };
  Phase phase_ = Phase::kEmbed;
  int64_t next_ = 0;
  size_t frame_ = 0;
  int head_ = 0;
  AlignedBuffer hidden_, qkv_, normed_, rope_;  // [patches, ...]
  std::vector<ImageFeatures> features_;
};

// Immutable after loading; Step is called by one thread at a time per context.
class VisionTower {
 public:
  static Result<VisionTower> Load(WeightLoader& loader, const VisionConfig& config);

  const VisionConfig& config() const { return config_; }
  size_t bytes() const;

  // Starts a group: embeds nothing yet, only allocates. Fails when the memory cannot be had.
  Result<std::unique_ptr<VisionJob>> Start(std::vector<VisionPicture> pictures) const;
  // The two kinds of work, which run at different speeds.
  enum class Work : uint8_t { kMatrices, kAttention };
  Work NextWork(const VisionJob& job) const {
    return job.phase_ == VisionJob::Phase::kAttention ? Work::kAttention : Work::kMatrices;
  }
  // Runs one slice of the group and returns its floating-point operations: as many patches (or heads) of the
  // next phase as fit `max_flops`, but never so few that the kernels would be slow. The features do not
  // depend on how the work was cut.
  double Step(KernelContext& context, VisionJob& job,
              double max_flops = std::numeric_limits<double>::infinity()) const;
  // Scratch bytes that a job over this many patches needs.
  static size_t JobBytes(const VisionConfig& config, int64_t patches);

 private:
  struct Block {
    std::vector<float> norm1_weight, norm1_bias, norm2_weight, norm2_bias;
    LinearLayer qkv, proj, fc1, fc2;
  };
  static Result<Block> LoadBlock(WeightLoader& loader, const VisionConfig& config, int layer);

  // One slice of a phase from job.next_ on; each returns its operations.
  double EmbedPatches(KernelContext& context, VisionJob& job, double max_flops) const;
  double ProjectQkv(KernelContext& context, VisionJob& job, double max_flops) const;
  double Attend(KernelContext& context, VisionJob& job, double max_flops) const;
  double RunMlp(KernelContext& context, VisionJob& job, double max_flops) const;
  double Merge(KernelContext& context, VisionJob& job, double max_flops) const;
  void AddPositions(const VisionPicture& picture, VisionJob& job, int64_t first, int64_t count) const;
  // Index of the DeepStack merger that follows the block of this layer, or -1.
  int DeepStackAfter(int layer) const;
  void NextPhase(VisionJob& job) const;
  const Block& BlockOf(const VisionJob& job) const { return blocks_[static_cast<size_t>(job.layer_ - 1)]; }

  VisionConfig config_;
  WeightType type_ = WeightType::kF32;
  LinearLayer patch_embedding_;
  std::vector<float> position_grid_;  // [grid_side, grid_side, hidden]
  std::vector<Block> blocks_;
  PatchMerger merger_;
  std::vector<PatchMerger> deepstack_mergers_;
};

}  // namespace saccade
