#include "bench/stages.h"

#include <algorithm>
#include <numeric>

namespace saccade {
namespace {

constexpr int kPageTokens = 64;  // as the engine has it

}  // namespace

VisionStage::VisionStage(const VisionTower& tower, int grid_h, int grid_w)
    : tower_(tower), grid_{1, grid_h, grid_w} {
  const VisionConfig& config = tower.config();
  const int64_t patch_bytes = int64_t{config.in_channels} * config.patch_size * config.patch_size;
  pixels_.resize(static_cast<size_t>(grid_.patches() * patch_bytes));
  uint32_t state = 1;
  for (uint8_t& pixel : pixels_) {
    state = state * 1664525U + 1013904223U;
    pixel = static_cast<uint8_t>(state >> 24);
  }
}

Status VisionStage::Run(KernelContext& context) {
  VisionPicture picture;
  picture.grid = grid_;
  picture.patches = pixels_;
  picture.scale = {2.0F / 255, 2.0F / 255, 2.0F / 255};
  picture.offset = {-1, -1, -1};
  SACCADE_ASSIGN_OR_RETURN(const auto job, tower_.Start({picture}));
  while (!job->done()) tower_.Step(context, *job);
  return OkStatus();
}

Result<std::unique_ptr<TextStage>> TextStage::Make(const TextDecoder& decoder, KvType kv, int sequences,
                                                   int64_t tokens) {
  const TextConfig& config = decoder.config();
  std::unique_ptr<TextStage> stage(new TextStage(decoder));
  KvCacheView& cache = stage->cache_;
  cache.layout = {kv, config.kv_heads, config.head_dim, kPageTokens};
  cache.layer_stride = cache.layout.PageBytes();
  cache.page_stride = cache.layer_stride * static_cast<size_t>(config.layers);
  const int64_t pages = (tokens + kPageTokens - 1) / kPageTokens;
  stage->memory_ = AlignedBuffer(cache.page_stride * static_cast<size_t>(pages * sequences));
  if (!stage->memory_.ok()) return ResourceExhausted("no memory for the KV cache of the measurement");
  cache.base = stage->memory_.data();
  for (int i = 0; i < sequences; ++i) {
    std::vector<int32_t> own(static_cast<size_t>(pages));
    std::iota(own.begin(), own.end(), static_cast<int32_t>(i * pages));
    stage->pages_.push_back(std::move(own));
  }
  return stage;
}

Status TextStage::Forward(KernelContext& context, std::span<const SequenceRows> sequences, int64_t rows,
                          int64_t position, bool same_position, std::span<const int64_t> logit_rows) {
  std::vector<int32_t> tokens(static_cast<size_t>(rows)), positions(static_cast<size_t>(rows));
  for (int64_t row = 0; row < rows; ++row) {
    tokens[static_cast<size_t>(row)] = static_cast<int32_t>((row * 7919 + 11) % decoder_.config().vocab);
    positions[static_cast<size_t>(row)] = static_cast<int32_t>(position + (same_position ? 0 : row));
  }
  logits_.resize(logit_rows.size() * static_cast<size_t>(decoder_.config().vocab));
  return decoder_.Forward(context, cache_,
                          {tokens, positions, positions, positions, sequences, {}, logit_rows}, scratch_,
                          logits_.data());
}

Status TextStage::Prefill(KernelContext& context, int64_t tokens, int64_t slice) {
  for (int64_t done = 0; done < tokens; done += slice) {
    const int64_t rows = std::min(slice, tokens - done);
    const SequenceRows sequence = {0, rows, done, pages_[0]};
    const int64_t last = rows - 1;
    const bool at_end = done + rows == tokens;
    SACCADE_RETURN_IF_ERROR(Forward(context, {&sequence, 1}, rows, done, false,
                                    std::span(&last, at_end ? size_t{1} : size_t{0})));
  }
  return OkStatus();
}

Status TextStage::Decode(KernelContext& context, int batch, int64_t past) {
  std::vector<SequenceRows> sequences;
  std::vector<int64_t> logit_rows;
  for (int i = 0; i < batch; ++i) {
    sequences.push_back({i, 1, past, pages_[static_cast<size_t>(i)]});
    logit_rows.push_back(i);
  }
  return Forward(context, sequences, batch, past, true, logit_rows);
}

}  // namespace saccade
