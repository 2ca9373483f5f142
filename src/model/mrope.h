// Positions of the interleaved multimodal rotary embedding (M-RoPE): where a token stands in time, height,
// width.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/config.h"

namespace saccade {

// Patches of one picture before merging, all multiples of the merge size.
struct GridThw {
  int t = 1, h = 0, w = 0;
  int64_t patches() const { return int64_t{t} * h * w; }
};

struct PromptPositions {
  std::vector<int32_t> t, h, w;  // one entry per prompt token
  int32_t delta = 0;  // position of generated token i (counted from 0 over the prompt) is i + delta
};

// Mirrors Qwen3VLModel.get_rope_index for pictures: text counts on in all three axes; a picture of merged
// size (t, h, w) starts behind everything before it, and the text after it goes on behind its largest
// position. `tokens` holds every picture's image tokens consecutively; `grids` are the pictures in order.
// Fails when the tokens and the grids do not belong together.
Result<PromptPositions> ComputePositions(std::span<const int32_t> tokens, int32_t image_token,
                                         std::span<const GridThw> grids, int merge_size);

// Fills cos, sin [tokens, head_dim / 2] of the text decoder. Pair i of a head turns with the h position when
// i is one of 1, 4, 7... below 3 * section[1], with w for 2, 5, 8... below 3 * section[2], else with t
// (mirrors apply_interleaved_mrope). Angles are float32 products, as in the reference.
void FillTextRope(const TextConfig& config, std::span<const int32_t> t, std::span<const int32_t> h,
                  std::span<const int32_t> w, float* cos, float* sin);

// Row and column of every patch of a picture in merge-block order, appended to `rows` and `columns`.
void AppendPatchCoordinates(const GridThw& grid, int merge_size, std::vector<int32_t>& rows,
                            std::vector<int32_t>& columns);

// Fills cos, sin [patches, head_dim / 2] of the vision tower: the first half of the pairs turns with the row,
// the second with the column (mirrors Qwen3VLVisionRotaryEmbedding).
void FillVisionRope(const VisionConfig& config, std::span<const int32_t> rows,
                    std::span<const int32_t> columns, float* cos, float* sin);

}  // namespace saccade
