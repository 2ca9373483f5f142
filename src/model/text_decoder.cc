#include "model/text_decoder.h"

#include <fmt/format.h>

#include <array>

#include "base/check.h"

namespace saccade {

size_t TextScratch::bytes() const {
  size_t total = 0;
  for (const GrowingFloats* part : {&hidden, &normed, &qkv, &attention, &middle, &cos, &sin, &logit_rows}) {
    total += part->bytes();
  }
  return total;
}

Result<TextDecoder::Layer> TextDecoder::LoadLayer(WeightLoader& loader, const TextConfig& config, int index) {
  const std::string name = fmt::format("model.language_model.layers.{}.", index);
  const std::string attention = name + "self_attn.";
  const int64_t h = config.hidden, q = int64_t{config.q_heads} * config.head_dim,
                kv = int64_t{config.kv_heads} * config.head_dim;
  Layer layer;
  SACCADE_ASSIGN_OR_RETURN(layer.input_norm, loader.Vector(name + "input_layernorm.weight", h));
  SACCADE_ASSIGN_OR_RETURN(layer.post_norm, loader.Vector(name + "post_attention_layernorm.weight", h));
  SACCADE_ASSIGN_OR_RETURN(layer.q_norm, loader.Vector(attention + "q_norm.weight", config.head_dim));
  SACCADE_ASSIGN_OR_RETURN(layer.k_norm, loader.Vector(attention + "k_norm.weight", config.head_dim));
  const std::array<std::string, 3> names = {attention + "q_proj", attention + "k_proj", attention + "v_proj"};
  const std::array<int64_t, 3> outputs = {q, kv, kv};
  SACCADE_ASSIGN_OR_RETURN(layer.qkv, loader.Stacked(names, outputs, h));
  SACCADE_ASSIGN_OR_RETURN(layer.out, loader.Linear(attention + "o_proj", h, q, false));
  SACCADE_ASSIGN_OR_RETURN(
      layer.gate_up, loader.GateUp(name + "mlp.gate_proj", name + "mlp.up_proj", config.intermediate, h));
  SACCADE_ASSIGN_OR_RETURN(layer.down, loader.Linear(name + "mlp.down_proj", h, config.intermediate, false));
  return layer;
}

Result<TextDecoder> TextDecoder::Load(WeightLoader& loader, const TextConfig& config,
                                      int deepstack_features) {
  SACCADE_CHECK(deepstack_features <= config.layers);
  TextDecoder decoder;
  decoder.config_ = config;
  for (int index = 0; index < config.layers; ++index) {
    SACCADE_ASSIGN_OR_RETURN(Layer layer, LoadLayer(loader, config, index));
    decoder.layers_.push_back(std::move(layer));
  }
  SACCADE_ASSIGN_OR_RETURN(decoder.final_norm_,
                           loader.Vector("model.language_model.norm.weight", config.hidden));
  const std::string embedding = "model.language_model.embed_tokens";
  SACCADE_ASSIGN_OR_RETURN(decoder.embedding_,
                           loader.Table(embedding + ".weight", {config.vocab, config.hidden}));
  SACCADE_ASSIGN_OR_RETURN(
      decoder.head_, loader.Linear(config.tied_head ? embedding : "lm_head", config.vocab, config.hidden,
                                   false, Precision::kSensitive));
  return decoder;
}

size_t TextDecoder::bytes() const {
  size_t total = head_.bytes() + final_norm_.size() * sizeof(float);
  for (const Layer& layer : layers_) {
    total += layer.qkv.bytes() + layer.out.bytes() + layer.gate_up.bytes() + layer.down.bytes();
  }
  return total;
}

size_t TextDecoder::ScratchBytes(const TextConfig& config, int64_t rows, int64_t logit_rows) {
  const int64_t heads = config.q_heads + 2 * config.kv_heads;
  const int64_t per_row = 2 * config.hidden + heads * config.head_dim +
                          int64_t{config.q_heads} * config.head_dim + config.intermediate + config.head_dim;
  return static_cast<size_t>(rows * per_row + logit_rows * config.hidden) * sizeof(float);
}

void TextDecoder::Embed(KernelContext& context, const TextBatch& batch, float* hidden) const {
  const int64_t width = config_.hidden;
  const auto row_bytes = static_cast<size_t>(width * DTypeBytes(embedding_.dtype));
  context.pool().ParallelFor(static_cast<int64_t>(batch.tokens.size()), [&](int64_t row, int) {
    const int32_t token = batch.tokens[static_cast<size_t>(row)];
    SACCADE_CHECK(token >= 0 && token < config_.vocab);
    CopyAsFloat({embedding_.dtype,
                 {width},
                 embedding_.bytes.subspan(static_cast<size_t>(token) * row_bytes, row_bytes)},
                hidden + row * width);
  });
  for (const ImageRows& image : batch.images) {
    const float* source = image.features->merged.data() + image.first_token * width;
    std::copy(source, source + image.rows * width, hidden + image.first_row * width);
  }
}

void TextDecoder::RunLayer(KernelContext& context, const Layer& layer, const KvLayout& layout,
                           std::span<const KvSegment> segments, int64_t rows, TextScratch& scratch) const {
  const int64_t q_width = int64_t{config_.q_heads} * config_.head_dim;
  const int64_t kv_width = int64_t{config_.kv_heads} * config_.head_dim;
  const int64_t qkv_width = q_width + 2 * kv_width;
  float* hidden = scratch.hidden.data();
  float* normed = scratch.normed.data();
  float* qkv = scratch.qkv.data();
  float* attention = scratch.attention.data();
  const float* cos = scratch.cos.data();
  const float* sin = scratch.sin.data();

  RmsNorm(context, hidden, rows, config_.hidden, layer.input_norm.data(), config_.rms_eps, normed);
  layer.qkv.Apply(context, normed, rows, Epilogue::kNone, qkv);
  float* k = qkv + q_width;
  const float* v = k + kv_width;
  NormRope(context, qkv, rows, qkv_width, config_.q_heads, config_.head_dim, layer.q_norm.data(),
           config_.rms_eps, cos, sin);
  NormRope(context, k, rows, qkv_width, config_.kv_heads, config_.head_dim, layer.k_norm.data(),
           config_.rms_eps, cos, sin);
  AppendKv(context, layout, segments, k, qkv_width, v, qkv_width);
  PagedAttention(context, layout, segments, qkv, qkv_width, config_.q_heads, attention);
  layer.out.Apply(context, attention, rows, Epilogue::kAdd, hidden);

  RmsNorm(context, hidden, rows, config_.hidden, layer.post_norm.data(), config_.rms_eps, normed);
  layer.gate_up.Apply(context, normed, rows, Epilogue::kSwiGlu, scratch.middle.data());
  layer.down.Apply(context, scratch.middle.data(), rows, Epilogue::kAdd, hidden);
}

namespace {

// The page addresses of one layer, for every sequence of the batch.
class LayerSegments {
 public:
  LayerSegments(const KvCacheView& cache, std::span<const SequenceRows> sequences)
      : cache_(cache), sequences_(sequences) {
    size_t pages = 0;
    for (const SequenceRows& sequence : sequences) pages += sequence.pages.size();
    addresses_.resize(pages);
    segments_.resize(sequences.size());
  }

  std::span<const KvSegment> ForLayer(int layer) {
    size_t next = 0;
    for (size_t i = 0; i < sequences_.size(); ++i) {
      const SequenceRows& sequence = sequences_[i];
      const size_t first = next;
      for (int32_t page : sequence.pages) {
        addresses_[next++] = cache_.base + static_cast<size_t>(page) * cache_.page_stride +
                             static_cast<size_t>(layer) * cache_.layer_stride;
      }
      segments_[i] = {sequence.first_row, sequence.rows, sequence.past_tokens,
                      std::span(addresses_).subspan(first, sequence.pages.size())};
    }
    return segments_;
  }

 private:
  const KvCacheView& cache_;
  std::span<const SequenceRows> sequences_;
  std::vector<std::byte*> addresses_;
  std::vector<KvSegment> segments_;
};

}  // namespace

Status TextDecoder::Forward(KernelContext& context, const KvCacheView& cache, const TextBatch& batch,
                            TextScratch& scratch, float* logits, const HiddenTrace& trace) const {
  const auto rows = static_cast<int64_t>(batch.tokens.size());
  const auto count = [rows](int64_t width) { return static_cast<size_t>(rows * width); };
  const int64_t q_width = int64_t{config_.q_heads} * config_.head_dim;
  const int64_t kv_width = int64_t{config_.kv_heads} * config_.head_dim;
  float* hidden = scratch.hidden.Reserve(count(config_.hidden));
  float* cos = scratch.cos.Reserve(count(config_.head_dim / 2));
  float* sin = scratch.sin.Reserve(count(config_.head_dim / 2));
  float* last = scratch.logit_rows.Reserve(batch.logit_rows.size() * static_cast<size_t>(config_.hidden));
  if (hidden == nullptr || cos == nullptr || sin == nullptr ||
      (last == nullptr && !batch.logit_rows.empty()) ||
      scratch.normed.Reserve(count(config_.hidden)) == nullptr ||
      scratch.qkv.Reserve(count(q_width + 2 * kv_width)) == nullptr ||
      scratch.attention.Reserve(count(q_width)) == nullptr ||
      scratch.middle.Reserve(count(config_.intermediate)) == nullptr) {
    return ResourceExhausted("no memory for a step of {} rows", rows);
  }
  Embed(context, batch, hidden);
  FillTextRope(config_, batch.position_t, batch.position_h, batch.position_w, cos, sin);
  LayerSegments segments(cache, batch.sequences);
  for (int index = 0; index < config_.layers; ++index) {
    RunLayer(context, layers_[static_cast<size_t>(index)], cache.layout, segments.ForLayer(index), rows,
             scratch);
    if (trace) trace(index + 1, hidden, rows);
    for (const ImageRows& image : batch.images) {
      if (static_cast<size_t>(index) >= image.features->deepstack.size()) continue;
      AddInPlace(
          context,
          image.features->deepstack[static_cast<size_t>(index)].data() + image.first_token * config_.hidden,
          image.rows * config_.hidden, hidden + image.first_row * config_.hidden);
    }
  }
  for (size_t i = 0; i < batch.logit_rows.size(); ++i) {
    const float* row = hidden + batch.logit_rows[i] * config_.hidden;
    std::copy(row, row + config_.hidden, last + static_cast<int64_t>(i) * config_.hidden);
  }
  const auto wanted = static_cast<int64_t>(batch.logit_rows.size());
  if (wanted == 0) return OkStatus();
  RmsNorm(context, last, wanted, config_.hidden, final_norm_.data(), config_.rms_eps, last);
  if (trace) trace(config_.layers + 1, last, wanted);
  head_.Apply(context, last, wanted, Epilogue::kNone, logits);
  return OkStatus();
}

}  // namespace saccade
