// A block of query rows on its way through tiles of keys and values: the online softmax that vision and paged
// attention share. Used by one worker at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/registry.h"

namespace saccade {

// Query rows per block: every key and value tile that comes into the L1 cache serves all of them.
inline constexpr int64_t kAttentionRows = 48;

class RowBlock {
 public:
  // Head dimensions in elements, 32-bit words of queries and keys, and columns of values.
  struct Shape {
    int64_t head_dim;
    int64_t words;
    int64_t value_width;
    bool bf16;
  };
  static size_t ScratchBytes(const Shape& shape);

  // `scratch`: ScratchBytes(shape), 64-byte aligned.
  RowBlock(const KernelSet& kernels, const Shape& shape, std::byte* scratch);

  // Starts over with `rows` rows (at most kAttentionRows), none set.
  void Start(int64_t rows);
  void SetQuery(int64_t row, const float* q);
  int32_t* visible() { return visible_; }

  // One tile of at most kMaxTileKeys keys, of which row r sees the first visible()[r], `tokens` at most.
  struct Tile {
    const void* keys;
    const void* values;
    int64_t tokens;
    const float* key_scales = nullptr;  // rounded up to kKeyBlock
    const float* value_scales = nullptr;
  };
  void Add(const Tile& tile);

  // Weighted mean of the values row `row` has seen.
  void Finish(int64_t row, float* out) const;

 private:
  const KernelSet& kernels_;
  const AttentionKernels& attention_;
  const Shape shape_;
  const float scale_;
  int64_t rows_ = 0;
  uint32_t* query_;  // tiles of kQueryTile rows
  uint32_t* row_;    // one converted query
  float* scores_;    // [kQueryTile][kScoreStride]
  float* o_;         // [kAttentionRows][value_width]
  float* max_;
  float* sum_;
  float* alpha_;
  int32_t* visible_;
};

}  // namespace saccade
