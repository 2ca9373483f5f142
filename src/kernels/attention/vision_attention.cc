// Bidirectional attention inside pictures: keys and values of some heads are packed once, then blocks of
// query rows pass over them.
#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/attention/kv_pack.h"
#include "kernels/attention/row_block.h"
#include "kernels/layout.h"
#include "kernels/scratch.h"

namespace saccade {
namespace {

// Packed keys and values of the heads in work; they stay in a shared L3, and memory is bounded for large
// pictures.
constexpr int64_t kPackedBytes = int64_t{12} << 20;
// Keys per tile. 256 keys of 64 dimensions are 32 KB each of keys and values in bf16: L2 streams them fast
// enough, and the rescaling between tiles halves; 128 was 2 % slower on Zen 4 at 784 and at 5828 patches.
constexpr int64_t kTileKeys = 256;

struct Picture {
  const VisionCall& call;
  RowBlock::Shape shape;
  int64_t begin;  // first patch
  int64_t patches;
  int64_t keys_bytes;  // of one head
  int64_t head_bytes;  // keys and values of one head
};

// Keys and values of one tile of patches of one head.
void PackTile(const Picture& picture, int64_t head, int64_t first, std::byte* keys, std::byte* values) {
  const VisionCall& call = picture.call;
  const KvType type = picture.shape.elements == RowBlock::Elements::kBf16 ? KvType::kBf16 : KvType::kF32;
  const int64_t last = std::min(first + kTileKeys, RoundUp(picture.patches, kKeyBlock));
  const std::vector<float> zeros(static_cast<size_t>(call.head_dim));
  for (int64_t patch = first; patch < last; ++patch) {
    const int64_t offset = (picture.begin + patch) * call.stride + head * call.head_dim;
    const bool exists = patch < picture.patches;
    std::byte* block = keys + patch / kKeyBlock * picture.shape.words * kKeyBlock * 4;
    StoreKey(type, exists ? call.k + offset : zeros.data(), call.head_dim, patch % kKeyBlock, block);
    StoreValue(type, exists ? call.v + offset : zeros.data(), call.head_dim, picture.shape.value_width, patch,
               values);
  }
}

// Query rows [first, first + rows) of one head over all keys of the picture.
void AttendRows(const KernelSet& kernels, const Picture& picture, int64_t head, int64_t first, int64_t rows,
                const std::byte* keys, const std::byte* values, std::byte* scratch) {
  const VisionCall& call = picture.call;
  const RowBlock::Shape& shape = picture.shape;
  RowBlock block(kernels, shape, scratch);
  block.Start(rows);
  for (int64_t r = 0; r < rows; ++r) {
    block.SetQuery(r, call.q + (picture.begin + first + r) * call.stride + head * call.head_dim);
  }
  const bool bf16 = shape.elements == RowBlock::Elements::kBf16;
  const int64_t key_bytes = shape.words * 4, value_bytes = shape.value_width * (bf16 ? 2 : 4);
  for (int64_t key = 0; key < picture.patches; key += kTileKeys) {
    const int64_t tokens = std::min(kTileKeys, picture.patches - key);
    std::fill_n(block.visible(), rows, static_cast<int32_t>(tokens));
    RowBlock::Tile tile{keys + key * key_bytes, values + key * value_bytes, tokens * key_bytes,
                        tokens * value_bytes};
    if (key + kTileKeys < picture.patches) tile.next_keys = keys + (key + kTileKeys) * key_bytes;
    block.Add(tile);
  }
  for (int64_t r = 0; r < rows; ++r) {
    block.Finish(r, call.out + ((picture.begin + first + r) * call.heads + head) * call.head_dim);
  }
}

}  // namespace

void RunVisionAttention(KernelContext& context, const KernelSet& kernels, const VisionCall& call, bool bf16) {
  const VisionSlice& slice = call.slice;
  if (slice.rows == 0) return;
  const bool words_are_pairs = bf16 && kernels.attention_bf16.scores != nullptr;
  const int64_t words = words_are_pairs ? CeilDiv(call.head_dim, 2) : call.head_dim;
  const RowBlock::Shape shape{words_are_pairs ? RowBlock::Elements::kBf16 : RowBlock::Elements::kF32,
                              call.head_dim, words, RoundUp(call.head_dim, kKeyBlock)};
  const int64_t patches = slice.end - slice.begin, padded = RoundUp(patches, kKeyBlock);
  const int64_t keys_bytes = padded * words * 4;
  const int64_t value_bytes = (words_are_pairs ? padded / 2 : padded) * shape.value_width * 4;
  const Picture picture{call, shape, slice.begin, patches, keys_bytes, keys_bytes + value_bytes};

  const int64_t pass_heads = std::clamp<int64_t>(kPackedBytes / picture.head_bytes, 1, slice.heads);
  std::byte* packed =
      context.SharedScratch(kAttentionScratch, static_cast<size_t>(pass_heads * picture.head_bytes));
  const int64_t tiles = CeilDiv(patches, kTileKeys);
  const int64_t row_blocks = CeilDiv(slice.rows, kAttentionRows);
  for (int64_t first = 0; first < slice.heads; first += pass_heads) {
    const int64_t count = std::min(pass_heads, slice.heads - first), head = slice.first_head + first;
    context.pool().ParallelFor(count * tiles, [&](int64_t task, int) {
      std::byte* keys = packed + task / tiles * picture.head_bytes;
      PackTile(picture, head + task / tiles, task % tiles * kTileKeys, keys, keys + picture.keys_bytes);
    });
    context.pool().ParallelFor(count * row_blocks, [&](int64_t task, int worker) {
      const int64_t row = task % row_blocks * kAttentionRows;
      const std::byte* keys = packed + task / row_blocks * picture.head_bytes;
      AttendRows(kernels, picture, head + task / row_blocks, slice.first_row + row,
                 std::min(kAttentionRows, slice.rows - row), keys, keys + picture.keys_bytes,
                 context.WorkerScratch(worker, RowBlock::ScratchBytes(picture.shape)));
    });
  }
}

}  // namespace saccade
