// A group of pictures on its way through the tower, slice by slice.
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "model/vision_tower.h"

namespace saccade {
namespace {

// Rows that go through norm, fc1, activation and fc2 together: the intermediate rows (4096 floats each for
// 2B) stay in the last-level cache, and scratch does not grow with the picture.
constexpr int64_t kMlpRows = 512;

// Patches turned into float rows at a time.
constexpr int64_t kEmbedRows = 1024;

// Fewest patches in a slice: fewer would leave the matrix kernels short of rows, and a remainder below it is
// taken along so that no patch ever goes through the path for a few rows. A multiple of merged_patches().
constexpr int64_t kMinRows = 256;
// The same for the query rows of one attention head, whose keys are packed anew in every slice.
constexpr int64_t kMinQueries = 384;

int64_t SliceRows(double max_flops, double flops_per_row, int64_t fewest, int64_t left) {
  if (static_cast<double>(left) * flops_per_row <= max_flops) return left;
  const int64_t fit = static_cast<int64_t>(max_flops / flops_per_row) / fewest * fewest;
  const int64_t rows = std::max(fewest, fit);
  return rows + fewest > left ? left : rows;
}

// The picture that owns a patch.
size_t PictureOf(const std::vector<int64_t>& starts, int64_t patch) {
  return static_cast<size_t>(std::upper_bound(starts.begin(), starts.end(), patch) - starts.begin()) - 1;
}

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

double VisionTower::EmbedPatches(KernelContext& context, VisionJob& job, double max_flops) const {
  const int64_t inputs = patch_embedding_.inputs(), area = inputs / 3;
  const size_t index = PictureOf(job.picture_starts_, job.next_);
  const VisionPicture& picture = job.pictures_[index];
  const int64_t first = job.next_, in_picture = first - job.picture_starts_[index];
  const double flops = 2.0 * static_cast<double>(inputs * config_.hidden);
  const int64_t count = SliceRows(max_flops, flops, kMinRows, picture.grid.patches() - in_picture);
  float* rows = job.qkv_.floats();  // free until the first block; holds 3 * hidden floats per patch
  const int64_t rows_at_once =
      std::max<int64_t>(1, std::min(kEmbedRows, job.patches_ * 3 * config_.hidden / inputs));
  for (int64_t begin = 0; begin < count; begin += rows_at_once) {
    const int64_t part = std::min(rows_at_once, count - begin);
    context.pool().ParallelFor(part, [&](int64_t row, int) {
      const uint8_t* source = picture.patches.data() + (in_picture + begin + row) * inputs;
      float* target = rows + row * inputs;
      for (int64_t i = 0; i < inputs; ++i) {
        const auto channel = static_cast<size_t>(i / area);
        target[i] = static_cast<float>(source[i]) * picture.scale[channel] + picture.offset[channel];
      }
    });
    patch_embedding_.Apply(context, rows, part, Epilogue::kNone,
                           job.hidden_.floats() + (first + begin) * config_.hidden);
  }
  AddPositions(picture, job, first, count);
  job.next_ += count;
  return flops * static_cast<double>(count);
}

void VisionTower::AddPositions(const VisionPicture& picture, VisionJob& job, int64_t first,
                               int64_t count) const {
  const int side = config_.grid_side;
  float* target = job.hidden_.floats() + first * config_.hidden;
  for (int64_t patch = first; patch < first + count; ++patch, target += config_.hidden) {
    const AxisTaps v = MakeTaps(job.rows_[static_cast<size_t>(patch)], picture.grid.h, side);
    const AxisTaps u = MakeTaps(job.columns_[static_cast<size_t>(patch)], picture.grid.w, side);
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

double VisionTower::ProjectQkv(KernelContext& context, VisionJob& job, double max_flops) const {
  const Block& block = BlockOf(job);
  const int64_t h = config_.hidden, first = job.next_, pairs = config_.head_dim() / 2;
  const double flops = 6.0 * static_cast<double>(h * h);
  const int64_t rows = SliceRows(max_flops, flops, kMinRows, job.patches_ - first);
  float* normed = job.normed_.floats() + first * h;
  float* qkv = job.qkv_.floats() + first * 3 * h;
  const float* cos = job.rope_.floats() + first * pairs;
  LayerNorm(context, job.hidden_.floats() + first * h, rows, h, block.norm1_weight.data(),
            block.norm1_bias.data(), kVisionNormEps, normed);
  block.qkv.Apply(context, normed, rows, Epilogue::kNone, qkv);
  // q and k heads lie side by side in a row, so that one call turns both.
  NormRope(context, qkv, rows, 3 * h, 2 * config_.heads, config_.head_dim(), nullptr, 0, cos,
           cos + job.patches_ * pairs);
  job.next_ += rows;
  return flops * static_cast<double>(rows);
}

double VisionTower::Attend(KernelContext& context, VisionJob& job, double max_flops) const {
  const int64_t h = config_.hidden;
  VisionSlice slice;
  slice.begin = job.starts_[job.frame_];
  slice.end = job.starts_[job.frame_ + 1];
  slice.first_head = job.head_;
  slice.heads = 1;
  slice.first_row = job.next_ - slice.begin;
  const int64_t patches = slice.end - slice.begin;
  const double flops = 4.0 * static_cast<double>(patches * config_.head_dim());  // of one row of one head
  const double heads_fit = max_flops / (flops * static_cast<double>(patches));
  if (slice.first_row == 0 && heads_fit >= 1) {
    slice.heads = static_cast<int>(std::min<double>(heads_fit, config_.heads - job.head_));
    slice.rows = patches;
  } else {
    slice.rows = SliceRows(max_flops, flops, kMinQueries, patches - slice.first_row);
  }
  const float* qkv = job.qkv_.floats();
  VisionAttentionSlice(context, qkv, qkv + h, qkv + 2 * h, 3 * h, slice, config_.heads, config_.head_dim(),
                       type_ != WeightType::kF32, job.normed_.floats());
  job.next_ += slice.rows;
  if (job.next_ == slice.end) {
    job.head_ += slice.heads;
    job.next_ = slice.begin;
  }
  if (job.head_ == config_.heads) {
    job.head_ = 0;
    ++job.frame_;
    job.next_ = slice.end;
  }
  return flops * static_cast<double>(slice.rows * slice.heads);
}

double VisionTower::RunMlp(KernelContext& context, VisionJob& job, double max_flops) const {
  const Block& block = BlockOf(job);
  const int64_t h = config_.hidden, first = job.next_;
  const double flops = static_cast<double>(2 * h * h + 4 * h * config_.intermediate);
  const int64_t count = SliceRows(max_flops, flops, kMinRows, job.patches_ - first);
  float* x = job.hidden_.floats() + first * h;
  float* normed = job.normed_.floats() + first * h;  // what the attention left, then scratch
  float* middle = job.qkv_.floats();                 // the qkv rows are done with
  block.proj.Apply(context, normed, count, Epilogue::kAdd, x);

  const Epilogue activation =
      config_.activation == VisionActivation::kGeluTanh ? Epilogue::kGeluTanh : Epilogue::kGeluErf;
  const int64_t rows_at_once = std::clamp<int64_t>(job.patches_ * 3 * h / config_.intermediate, 1, kMlpRows);
  for (int64_t begin = 0; begin < count; begin += rows_at_once) {
    const int64_t rows = std::min(rows_at_once, count - begin);
    LayerNorm(context, x + begin * h, rows, h, block.norm2_weight.data(), block.norm2_bias.data(),
              kVisionNormEps, normed);
    block.fc1.Apply(context, normed, rows, activation, middle);
    block.fc2.Apply(context, middle, rows, Epilogue::kAdd, x + begin * h);
  }
  job.next_ += count;
  return flops * static_cast<double>(count);
}

double VisionTower::Merge(KernelContext& context, VisionJob& job, double max_flops) const {
  const int64_t merged_patches = config_.merged_patches(), merged = config_.hidden * merged_patches;
  const size_t index = PictureOf(job.picture_starts_, job.next_);
  ImageFeatures& features = job.features_[index];
  const int64_t in_picture = job.next_ - job.picture_starts_[index];
  const double flops =
      2.0 * static_cast<double>(merged * (merged + config_.out_hidden)) / static_cast<double>(merged_patches);
  const int64_t patches =
      SliceRows(max_flops, flops, kMinRows, features.tokens * merged_patches - in_picture);
  const bool deepstack = job.phase_ == VisionJob::Phase::kDeepStack;
  const auto level = static_cast<size_t>(deepstack ? DeepStackAfter(job.layer_ - 1) : 0);
  const PatchMerger& merger = deepstack ? deepstack_mergers_[level] : merger_;
  float* target = deepstack ? features.deepstack[level].data() : features.merged.data();
  merger.Apply(context, job.hidden_.floats() + job.next_ * config_.hidden, patches / merged_patches,
               job.qkv_.floats(), target + in_picture / merged_patches * config_.out_hidden);
  job.next_ += patches;
  return flops * static_cast<double>(patches);
}

int VisionTower::DeepStackAfter(int layer) const {
  const auto& layers = config_.deepstack_layers;
  const auto found = std::find(layers.begin(), layers.end(), layer);
  return found == layers.end() ? -1 : static_cast<int>(found - layers.begin());
}

void VisionTower::NextPhase(VisionJob& job) const {
  using Phase = VisionJob::Phase;
  job.next_ = 0;
  job.frame_ = 0;
  if (job.phase_ == Phase::kQkv) {
    job.phase_ = Phase::kAttention;
  } else if (job.phase_ == Phase::kAttention) {
    job.phase_ = Phase::kMlp;
  } else if (job.phase_ == Phase::kMlp && DeepStackAfter(job.layer_ - 1) >= 0) {
    job.phase_ = Phase::kDeepStack;
  } else {
    ++job.layer_;
    job.phase_ = job.layer_ <= config_.depth ? Phase::kQkv : Phase::kMerge;
  }
  if (!job.done()) return;
  for (AlignedBuffer* buffer : {&job.hidden_, &job.qkv_, &job.normed_, &job.rope_}) *buffer = AlignedBuffer();
}

double VisionTower::Step(KernelContext& context, VisionJob& job, double max_flops) const {
  SACCADE_CHECK(!job.done());
  double flops = 0;
  switch (job.phase_) {
    case VisionJob::Phase::kEmbed:
      flops = EmbedPatches(context, job, max_flops);
      break;
    case VisionJob::Phase::kQkv:
      flops = ProjectQkv(context, job, max_flops);
      break;
    case VisionJob::Phase::kAttention:
      flops = Attend(context, job, max_flops);
      break;
    case VisionJob::Phase::kMlp:
      flops = RunMlp(context, job, max_flops);
      break;
    case VisionJob::Phase::kDeepStack:
    case VisionJob::Phase::kMerge:
      flops = Merge(context, job, max_flops);
      break;
  }
  if (job.next_ == job.patches_) NextPhase(job);
  return flops;
}

}  // namespace saccade
