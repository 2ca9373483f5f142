#include "model/vision_tower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace saccade {
namespace {

size_t FloatBytes(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

}  // namespace

Result<PatchMerger> PatchMerger::Load(WeightLoader& loader, const VisionConfig& config,
                                      const std::string& name, bool norm_after_shuffle) {
  PatchMerger merger;
  merger.norm_after_shuffle_ = norm_after_shuffle;
  merger.hidden_ = config.hidden;
  merger.merged_patches_ = config.merged_patches();
  const int64_t merged = config.hidden * merger.merged_patches_;
  const int64_t norm_width = norm_after_shuffle ? merged : config.hidden;
  SACCADE_ASSIGN_OR_RETURN(merger.norm_weight_, loader.Vector(name + ".norm.weight", norm_width));
  SACCADE_ASSIGN_OR_RETURN(merger.norm_bias_, loader.Vector(name + ".norm.bias", norm_width));
  SACCADE_ASSIGN_OR_RETURN(merger.fc1_, loader.Linear(name + ".linear_fc1", merged, merged, true));
  SACCADE_ASSIGN_OR_RETURN(merger.fc2_, loader.Linear(name + ".linear_fc2", config.out_hidden, merged, true));
  return merger;
}

void PatchMerger::Apply(KernelContext& context, const float* x, int64_t tokens, float* scratch,
                        float* out) const {
  const int64_t merged = hidden_ * merged_patches_;
  const int64_t norm_width = norm_after_shuffle_ ? merged : hidden_;
  float* normed = scratch;
  float* middle = scratch + tokens * merged;
  // The shuffle itself is free: the patches of one token already lie next to each other.
  LayerNorm(context, x, tokens * merged / norm_width, norm_width, norm_weight_.data(), norm_bias_.data(),
            kVisionNormEps, normed);
  fc1_.Apply(context, normed, tokens, Epilogue::kGeluErf, middle);
  fc2_.Apply(context, middle, tokens, Epilogue::kNone, out);
}

Result<VisionTower::Block> VisionTower::LoadBlock(WeightLoader& loader, const VisionConfig& config,
                                                  int layer) {
  const std::string name = fmt::format("model.visual.blocks.{}.", layer);
  const int64_t h = config.hidden;
  Block block;
  SACCADE_ASSIGN_OR_RETURN(block.norm1_weight, loader.Vector(name + "norm1.weight", h));
  SACCADE_ASSIGN_OR_RETURN(block.norm1_bias, loader.Vector(name + "norm1.bias", h));
  SACCADE_ASSIGN_OR_RETURN(block.norm2_weight, loader.Vector(name + "norm2.weight", h));
  SACCADE_ASSIGN_OR_RETURN(block.norm2_bias, loader.Vector(name + "norm2.bias", h));
  SACCADE_ASSIGN_OR_RETURN(block.qkv, loader.Linear(name + "attn.qkv", 3 * h, h, true));
  SACCADE_ASSIGN_OR_RETURN(block.proj, loader.Linear(name + "attn.proj", h, h, true));
  SACCADE_ASSIGN_OR_RETURN(block.fc1, loader.Linear(name + "mlp.linear_fc1", config.intermediate, h, true));
  SACCADE_ASSIGN_OR_RETURN(block.fc2, loader.Linear(name + "mlp.linear_fc2", h, config.intermediate, true));
  return block;
}

Result<VisionTower> VisionTower::Load(WeightLoader& loader, const VisionConfig& config) {
  VisionTower tower;
  tower.config_ = config;
  tower.type_ = loader.type();
  // A still picture is the same frame repeated, so the convolution over frames is one over the summed kernel.
  SACCADE_ASSIGN_OR_RETURN(
      tower.patch_embedding_,
      loader.SumOfFrames("model.visual.patch_embed.proj", config.hidden, config.in_channels,
                         config.temporal_patch_size, config.patch_size));
  SACCADE_ASSIGN_OR_RETURN(tower.position_grid_,
                           loader.Floats("model.visual.pos_embed.weight",
                                         {int64_t{config.grid_side} * config.grid_side, config.hidden}));
  for (int layer = 0; layer < config.depth; ++layer) {
    SACCADE_ASSIGN_OR_RETURN(Block block, LoadBlock(loader, config, layer));
    tower.blocks_.push_back(std::move(block));
  }
  SACCADE_ASSIGN_OR_RETURN(tower.merger_, PatchMerger::Load(loader, config, "model.visual.merger", false));
  for (size_t i = 0; i < config.deepstack_layers.size(); ++i) {
    const std::string name = fmt::format("model.visual.deepstack_merger_list.{}", i);
    SACCADE_ASSIGN_OR_RETURN(PatchMerger merger, PatchMerger::Load(loader, config, name, true));
    tower.deepstack_mergers_.push_back(std::move(merger));
  }
  return tower;
}

size_t VisionTower::bytes() const {
  size_t total = patch_embedding_.bytes() + position_grid_.size() * sizeof(float) + merger_.bytes();
  for (const Block& block : blocks_) {
    total += block.qkv.bytes() + block.proj.bytes() + block.fc1.bytes() + block.fc2.bytes();
  }
  for (const PatchMerger& merger : deepstack_mergers_) total += merger.bytes();
  return total;
}

size_t VisionTower::JobBytes(const VisionConfig& config, int64_t patches) {
  const int64_t pairs = config.head_dim() / 2;
  return FloatBytes(patches * (5 * config.hidden + 2 * pairs));
}

Result<std::unique_ptr<VisionJob>> VisionTower::Start(std::vector<VisionPicture> pictures) const {
  auto job = std::make_unique<VisionJob>();
  const int64_t patch_bytes = int64_t{config_.in_channels} * config_.patch_size * config_.patch_size;
  job->starts_.push_back(0);
  job->picture_starts_.push_back(0);
  for (const VisionPicture& picture : pictures) {
    const GridThw& grid = picture.grid;
    SACCADE_CHECK(grid.t >= 1 && grid.h % config_.merge_size == 0 && grid.w % config_.merge_size == 0);
    SACCADE_CHECK(static_cast<int64_t>(picture.patches.size()) == grid.patches() * patch_bytes);
    for (int frame = 0; frame < grid.t; ++frame) {  // attention stays inside one frame
      job->starts_.push_back(job->starts_.back() + int64_t{grid.h} * grid.w);
    }
    job->picture_starts_.push_back(job->starts_.back());
    AppendPatchCoordinates(grid, config_.merge_size, job->rows_, job->columns_);
    ImageFeatures features;
    features.tokens = grid.patches() / config_.merged_patches();
    const auto count = static_cast<size_t>(features.tokens * config_.out_hidden);
    features.merged.resize(count);
    features.deepstack.assign(deepstack_mergers_.size(), std::vector<float>(count));
    job->features_.push_back(std::move(features));
  }
  job->patches_ = job->starts_.back();
  job->total_layers_ = config_.depth + 2;  // patch embedding first, merger last
  const int64_t pairs = config_.head_dim() / 2;
  job->hidden_ = AlignedBuffer(FloatBytes(job->patches_ * config_.hidden));
  job->normed_ = AlignedBuffer(FloatBytes(job->patches_ * config_.hidden));
  // Also scratch for the patch rows, the MLP and the mergers, each of which takes at least one row.
  job->qkv_ = AlignedBuffer(FloatBytes(
      std::max({job->patches_ * 3 * config_.hidden, patch_embedding_.inputs(), config_.intermediate})));
  job->rope_ = AlignedBuffer(FloatBytes(job->patches_ * 2 * pairs));
  if (!job->hidden_.ok() || !job->normed_.ok() || !job->qkv_.ok() || !job->rope_.ok()) {
    return ResourceExhausted("no memory to encode {} patches; send smaller pictures", job->patches_);
  }
  FillVisionRope(config_, job->rows_, job->columns_, job->rope_.floats(),
                 job->rope_.floats() + job->patches_ * pairs);
  job->pictures_ = std::move(pictures);
  return job;
}

}  // namespace saccade
