#include "kernels/attention/kv_pack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/layout.h"
#include "kernels/quantize/quantize.h"

namespace saccade {
namespace {

// Largest head that AppendKv quantises on the stack.
constexpr int64_t kMaxQuantisedHead = 512;

void StoreInt8(const KvHeadLayout& head, int64_t page_tokens, const float* k, const float* v, int64_t slot,
               std::byte* page) {
  int8_t codes[kMaxQuantisedHead];
  auto* scales = reinterpret_cast<float*>(page + head.scales_offset);
  scales[slot] = QuantizeActivations(k, head.head_dim, codes);
  auto* keys =
      reinterpret_cast<int8_t*>(page) + slot / kKeyBlock * head.key_words * kKeyBlock + slot % kKeyBlock;
  for (int64_t i = 0; i < head.head_dim; ++i) keys[i * kKeyBlock] = codes[i];
  scales[page_tokens + slot] = QuantizeActivations(v, head.head_dim, codes);
  std::memcpy(page + head.values_offset + static_cast<size_t>(slot * head.value_width), codes,
              static_cast<size_t>(head.head_dim));
}

}  // namespace

void StoreKey(KvType type, const float* key, int64_t head_dim, int64_t lane, std::byte* block) {
  if (type == KvType::kF32) {
    auto* target = reinterpret_cast<float*>(block) + lane;
    for (int64_t i = 0; i < head_dim; ++i) target[i * kKeyBlock] = key[i];
    return;
  }
  auto* target = reinterpret_cast<uint32_t*>(block) + lane;
  int64_t i = 0;
  for (; i + 1 < head_dim; i += 2) {
    target[i / 2 * kKeyBlock] = uint32_t{FloatToBf16(key[i])} | uint32_t{FloatToBf16(key[i + 1])} << 16;
  }
  if (i < head_dim) target[i / 2 * kKeyBlock] = FloatToBf16(key[i]);
}

void StoreValue(KvType type, const float* value, int64_t head_dim, int64_t width, int64_t slot,
                std::byte* values) {
  if (type == KvType::kF32) {
    std::memcpy(values + static_cast<size_t>(slot * width) * 4, value, static_cast<size_t>(head_dim) * 4);
    return;
  }
  auto* words = reinterpret_cast<uint32_t*>(values) + slot / 2 * width;
  if (slot % 2 == 0) {
    for (int64_t i = 0; i < head_dim; ++i) words[i] = FloatToBf16(value[i]);
  } else {
    for (int64_t i = 0; i < head_dim; ++i)
      words[i] = (words[i] & 0xffffU) | uint32_t{FloatToBf16(value[i])} << 16;
  }
}

void AppendKv(KernelContext& context, const KvLayout& layout, std::span<const KvSegment> segments,
              const float* k, int64_t k_stride, const float* v, int64_t v_stride) {
  const KvHeadLayout head = MakeKvHeadLayout(layout.type, layout.head_dim, layout.page_tokens);
  SACCADE_CHECK(head.head_dim <= kMaxQuantisedHead);
  const int64_t heads = layout.kv_heads, tasks = static_cast<int64_t>(segments.size()) * heads;
  // One task writes all tokens of a head: neighbouring bf16 values share a word.
  context.pool().ParallelFor(tasks, [&](int64_t task, int) {
    const KvSegment& segment = segments[static_cast<size_t>(task / heads)];
    const int64_t h = task % heads;
    for (int64_t r = 0; r < segment.rows; ++r) {
      const int64_t token = segment.past_tokens + r, slot = token % layout.page_tokens;
      std::byte* page = segment.pages[static_cast<size_t>(token / layout.page_tokens)];
      page += static_cast<size_t>(h) * head.head_bytes;
      const float* key = k + (segment.first_row + r) * k_stride + h * head.head_dim;
      const float* value = v + (segment.first_row + r) * v_stride + h * head.head_dim;
      if (layout.type == KvType::kInt8) {
        StoreInt8(head, layout.page_tokens, key, value, slot, page);
        continue;
      }
      const int64_t block = slot / kKeyBlock * head.key_words * kKeyBlock * 4;
      StoreKey(layout.type, key, head.head_dim, slot % kKeyBlock, page + block);
      StoreValue(layout.type, value, head.head_dim, head.value_width, slot, page + head.values_offset);
    }
  });
}

}  // namespace saccade
