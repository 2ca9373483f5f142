// The text decoder: one step over the rows of many sequences at once, with paged KV and DeepStack injection.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "model/config.h"
#include "model/vision_tower.h"
#include "model/weight_loader.h"

namespace saccade {

// Where the KV pages lie: page p of layer l starts at base + p * page_stride + l * layer_stride. The engine
// owns the memory; the decoder only computes addresses.
struct KvCacheView {
  KvLayout layout;
  std::byte* base = nullptr;
  size_t page_stride = 0;
  size_t layer_stride = 0;
};

// Rows [first_row, first_row + rows) of a batch are the tokens [past_tokens, past_tokens + rows) of one
// sequence, whose page ids are `pages` (room for past_tokens + rows tokens).
struct SequenceRows {
  int64_t first_row = 0, rows = 0, past_tokens = 0;
  std::span<const int32_t> pages;
};

// Rows whose embeddings come from a picture: batch row first_row + i takes token first_token + i of
// `features`.
struct ImageRows {
  int64_t first_row = 0, rows = 0, first_token = 0;
  const ImageFeatures* features = nullptr;
};

// One step. All spans belong to the caller and outlive the call.
struct TextBatch {
  std::span<const int32_t> tokens;                              // [rows]
  std::span<const int32_t> position_t, position_h, position_w;  // [rows] each
  std::span<const SequenceRows> sequences;                      // every row belongs to exactly one
  std::span<const ImageRows> images;
  std::span<const int64_t> logit_rows;  // rows whose logits are wanted
};

// Receives hidden states of a step under the names of the reference files ("hidden.1", "hidden.5"): [rows,
// hidden].
using HiddenTrace = std::function<void(int layers_done, const float* hidden, int64_t rows)>;

// Activations of a step; grows to the largest step and is reused. One per thread that runs the decoder.
struct TextScratch {
  GrowingFloats hidden, normed, qkv, attention, middle, cos, sin, logit_rows;
  size_t bytes() const;
};

// Immutable after loading; Forward is called by one thread at a time per context and scratch.
class TextDecoder {
 public:
  static Result<TextDecoder> Load(WeightLoader& loader, const TextConfig& config, int deepstack_features);

  const TextConfig& config() const { return config_; }
  size_t bytes() const;
  // Bytes of activations for a step of so many rows.
  static size_t ScratchBytes(const TextConfig& config, int64_t rows, int64_t logit_rows);

  // Runs the step: appends keys and values of every row to the cache and writes logits [logit_rows, vocab].
  Status Forward(KernelContext& context, const KvCacheView& cache, const TextBatch& batch,
                 TextScratch& scratch, float* logits, const HiddenTrace& trace = {}) const;

 private:
  struct Layer {
    std::vector<float> input_norm, post_norm, q_norm, k_norm;
    LinearLayer qkv, out, gate_up, down;
  };
  static Result<Layer> LoadLayer(WeightLoader& loader, const TextConfig& config, int index);

  void Embed(KernelContext& context, const TextBatch& batch, float* hidden) const;
  void RunLayer(KernelContext& context, const Layer& layer, const KvLayout& layout,
                std::span<const KvSegment> segments, int64_t rows, TextScratch& scratch) const;

  TextConfig config_;
  TensorView embedding_;  // [vocab, hidden] in the mapped file, read row by row
  std::vector<Layer> layers_;
  std::vector<float> final_norm_;
  LinearLayer head_;
};

}  // namespace saccade
