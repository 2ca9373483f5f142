// A block of query rows on its way through tiles of keys and values: the online softmax that vision and paged
// attention share. Used by one worker at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/registry.h"

namespace saccade {

// Query rows per block: every key and value tile that comes into the caches serves all of them. 48 was 3 %
// slower.
inline constexpr int64_t kAttentionRows = 96;

class RowBlock {
 public:
  enum class Elements { kF32, kBf16 };
  // Elements of keys and values, head dimension, steps of the dot product over it (a bf16 pair is one) and
  // columns of values.
  struct Shape {
    Elements elements;
    int64_t head_dim;
    int64_t words;
    int64_t value_width;
  };
  static size_t ScratchBytes(const Shape& shape);

  // `scratch`: ScratchBytes(shape), 64-byte aligned.
  RowBlock(const KernelSet& kernels, const Shape& shape, std::byte* scratch);

  // Starts over with `rows` rows (at most kAttentionRows), none set.
  void Start(int64_t rows);
  void SetQuery(int64_t row, const float* q);
  int32_t* visible() { return visible_; }

  // One tile of at most kMaxTileKeys keys, of which row r sees the first visible()[r].
  struct Tile {
    const void* keys;
    const void* values;
    int64_t key_bytes;
    int64_t value_bytes;
    const float* key_scales = nullptr;  // of int8, one per key; rounded up to kKeyBlock
    const float* value_scales = nullptr;
    const void* next_keys = nullptr;  // of the tile that follows, if known
    int64_t next_bytes = 0;
  };
  void Add(const Tile& tile);

  // Weighted mean of the values row `row` has seen.
  void Finish(int64_t row, float* out) const;

 private:
  const KernelSet& kernels_;
  AttentionKernels attention_;
  const Shape shape_;
  const float scale_;
  int64_t rows_ = 0;
  uint32_t* query_;  // tiles of kQueryTile rows
  uint32_t* row_;    // one converted query
  float* scores_;    // [kQueryTile][kScoreStride]
  float* o_;         // [kAttentionRows][value_width]
  float* max_;
  float* sums_;  // [kAttentionRows][kSumLanes]
  float* alpha_;
  int32_t* visible_;
};

}  // namespace saccade
