#include "model/vision_tower.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace saccade {
namespace {

constexpr float kNormEps = 1e-6F;  // fixed in the reference, not part of config.json

// Rows that go through norm, fc1, activation and fc2 together: the intermediate rows (4096 floats each for
// 2B) stay in the last-level cache, and scratch does not grow with the picture.
constexpr int64_t kMlpRows = 512;

// Patches turned into float rows at a time.
constexpr int64_t kEmbedRows = 1024;

size_t FloatBytes(int64_t count) { return static_cast<size_t>(count) * sizeof(float); }

// Two taps per axis and their weights; mirrors get_vision_interpolation_indices_and_weights with bilinear
// mode and align_corners, in float32.
struct AxisTaps {
  int64_t low = 0, high = 0;
  float low_weight = 1, high_weight = 0;
};

AxisTaps MakeTaps(int32_t index, int size, int side) {
  const float source =
      static_cast<float>(index) * static_cast<float>(side - 1) / static_cast<float>(std::max(1, size - 1));
  const float floor = std::floor(source);
  const auto base = static_cast<int64_t>(floor);
  const float distance = source - floor;
  return {std::clamp<int64_t>(base, 0, side - 1), std::clamp<int64_t>(base + 1, 0, side - 1), 1.0F - distance,
          distance};
}

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
            kNormEps, normed);
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
  std::vector<int32_t> rows, columns;
  for (const VisionPicture& picture : pictures) {
    const GridThw& grid = picture.grid;
    SACCADE_CHECK(grid.t >= 1 && grid.h % config_.merge_size == 0 && grid.w % config_.merge_size == 0);
    SACCADE_CHECK(static_cast<int64_t>(picture.patches.size()) == grid.patches() * patch_bytes);
    for (int frame = 0; frame < grid.t; ++frame) {  // attention stays inside one frame
      job->starts_.push_back(job->starts_.back() + int64_t{grid.h} * grid.w);
    }
    AppendPatchCoordinates(grid, config_.merge_size, rows, columns);
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
  FillVisionRope(config_, rows, columns, job->rope_.floats(), job->rope_.floats() + job->patches_ * pairs);
  job->pictures_ = std::move(pictures);
  return job;
}

void VisionTower::EmbedPatches(KernelContext& context, VisionJob& job) const {
  const int64_t inputs = patch_embedding_.inputs(), area = inputs / 3;
  float* rows = job.qkv_.floats();  // free until the first block; holds 3 * hidden floats per patch
  const int64_t rows_at_once =
      std::max<int64_t>(1, std::min(kEmbedRows, job.patches_ * 3 * config_.hidden / inputs));
  int64_t first = 0;
  for (const VisionPicture& picture : job.pictures_) {
    const int64_t patches = picture.grid.patches();
    for (int64_t begin = 0; begin < patches; begin += rows_at_once) {
      const int64_t count = std::min(rows_at_once, patches - begin);
      context.pool().ParallelFor(count, [&](int64_t row, int) {
        const uint8_t* source = picture.patches.data() + (begin + row) * inputs;
        float* target = rows + row * inputs;
        for (int64_t i = 0; i < inputs; ++i) {
          const auto channel = static_cast<size_t>(i / area);
          target[i] = static_cast<float>(source[i]) * picture.scale[channel] + picture.offset[channel];
        }
      });
      patch_embedding_.Apply(context, rows, count, Epilogue::kNone,
                             job.hidden_.floats() + (first + begin) * config_.hidden);
    }
    first += patches;
  }
}

void VisionTower::AddPositions(VisionJob& job) const {
  const int side = config_.grid_side;
  float* target = job.hidden_.floats();
  for (const VisionPicture& picture : job.pictures_) {
    std::vector<int32_t> rows, columns;
    AppendPatchCoordinates(picture.grid, config_.merge_size, rows, columns);
    for (size_t patch = 0; patch < rows.size(); ++patch, target += config_.hidden) {
      const AxisTaps v = MakeTaps(rows[patch], picture.grid.h, side);
      const AxisTaps u = MakeTaps(columns[patch], picture.grid.w, side);
      const float* low_low = position_grid_.data() + (v.low * side + u.low) * config_.hidden;
      const float* low_high = position_grid_.data() + (v.low * side + u.high) * config_.hidden;
      const float* high_low = position_grid_.data() + (v.high * side + u.low) * config_.hidden;
      const float* high_high = position_grid_.data() + (v.high * side + u.high) * config_.hidden;
      const float w00 = v.low_weight * u.low_weight, w01 = v.low_weight * u.high_weight;
      const float w10 = v.high_weight * u.low_weight, w11 = v.high_weight * u.high_weight;
      for (int64_t i = 0; i < config_.hidden; ++i) {
        target[i] += low_low[i] * w00 + low_high[i] * w01 + high_low[i] * w10 + high_high[i] * w11;
      }
    }
  }
}

void VisionTower::RunBlock(KernelContext& context, VisionJob& job, const Block& block) const {
  const int64_t h = config_.hidden, patches = job.patches_;
  const int head_dim = config_.head_dim(), pairs = head_dim / 2;
  float* x = job.hidden_.floats();
  float* normed = job.normed_.floats();
  float* qkv = job.qkv_.floats();
  const float* cos = job.rope_.floats();
  const float* sin = cos + patches * pairs;
  LayerNorm(context, x, patches, h, block.norm1_weight.data(), block.norm1_bias.data(), kNormEps, normed);
  block.qkv.Apply(context, normed, patches, Epilogue::kNone, qkv);
  // q and k heads lie side by side in a row, so that one call turns both.
  NormRope(context, qkv, patches, 3 * h, 2 * config_.heads, head_dim, nullptr, 0, cos, sin);
  VisionAttention(context, qkv, qkv + h, qkv + 2 * h, 3 * h, job.starts_, config_.heads, head_dim,
                  type_ != WeightType::kF32, normed);
  block.proj.Apply(context, normed, patches, Epilogue::kAdd, x);

  const Epilogue activation =
      config_.activation == VisionActivation::kGeluTanh ? Epilogue::kGeluTanh : Epilogue::kGeluErf;
  // The qkv rows are done with: the MLP takes its scratch from them, chunk by chunk.
  const int64_t rows_at_once = std::clamp<int64_t>(patches * 3 * h / config_.intermediate, 1, kMlpRows);
  for (int64_t begin = 0; begin < patches; begin += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, patches - begin);
    LayerNorm(context, x + begin * h, rows, h, block.norm2_weight.data(), block.norm2_bias.data(), kNormEps,
              normed);
    block.fc1.Apply(context, normed, rows, activation, qkv);
    block.fc2.Apply(context, qkv, rows, Epilogue::kAdd, x + begin * h);
  }
}

void VisionTower::Merge(KernelContext& context, VisionJob& job, const PatchMerger& merger,
                        const std::function<float*(ImageFeatures&)>& target) const {
  int64_t first = 0;
  for (ImageFeatures& features : job.features_) {
    merger.Apply(context, job.hidden_.floats() + first * config_.hidden, features.tokens, job.qkv_.floats(),
                 target(features));
    first += features.tokens * config_.merged_patches();
  }
}

void VisionTower::Step(KernelContext& context, VisionJob& job) const {
  SACCADE_CHECK(!job.done());
  if (job.layer_ == 0) {
    EmbedPatches(context, job);
    AddPositions(job);
  } else if (job.layer_ <= config_.depth) {
    const int layer = job.layer_ - 1;
    RunBlock(context, job, blocks_[static_cast<size_t>(layer)]);
    const auto found = std::find(config_.deepstack_layers.begin(), config_.deepstack_layers.end(), layer);
    if (found != config_.deepstack_layers.end()) {
      const auto index = static_cast<size_t>(found - config_.deepstack_layers.begin());
      Merge(context, job, deepstack_mergers_[index],
            [index](ImageFeatures& features) { return features.deepstack[index].data(); });
    }
  } else {
    Merge(context, job, merger_, [](ImageFeatures& features) { return features.merged.data(); });
  }
  ++job.layer_;
  if (job.done()) {
    for (AlignedBuffer* buffer : {&job.hidden_, &job.qkv_, &job.normed_, &job.rope_})
      *buffer = AlignedBuffer();
  }
}

}  // namespace saccade
