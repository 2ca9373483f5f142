// Causal attention over KV pages. A unit of work is one KV head and a block of query rows: all query heads of
// the group for some consecutive tokens of one sequence (one token in decode), so that a page is read once
// for them.
#include <algorithm>

#include "base/check.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/row_block.h"
#include "kernels/layout.h"

namespace saccade {
namespace {

struct Plan {
  KvHeadLayout head;
  RowBlock::Shape shape;
  int64_t group;       // query heads per KV head
  int64_t unit_rows;   // tokens per unit
  bool unpack;         // pages are widened into scratch before use
  int64_t keys_bytes;  // of a page as the kernels read it
  int64_t values_bytes;
  size_t scratch_bytes;
};

// The same for one row (decode) as for many: a token computed again in a prompt slice, after pre-emption or
// by another request, must come out bit for bit the same.
RowBlock::Elements ElementsFor(const KernelSet& kernels, KvType type) {
  const bool bf16 = type != KvType::kF32 && kernels.attention_bf16.scores != nullptr;
  return bf16 ? RowBlock::Elements::kBf16 : RowBlock::Elements::kF32;
}

Plan MakePlan(const KernelSet& kernels, const PagedCall& call) {
  const KvLayout& layout = call.layout;
  Plan plan{};
  plan.head = MakeKvHeadLayout(layout.type, layout.head_dim, layout.page_tokens);
  plan.group = call.q_heads / layout.kv_heads;
  plan.unit_rows = std::max<int64_t>(1, kAttentionRows / plan.group);
  const RowBlock::Elements elements = ElementsFor(kernels, layout.type);
  const bool bf16 = elements == RowBlock::Elements::kBf16;
  plan.shape = {elements, layout.head_dim, bf16 ? layout.head_dim / 2 : layout.head_dim,
                plan.head.value_width};
  plan.unpack = layout.type == KvType::kInt8 || (layout.type == KvType::kBf16 && !bf16);
  const int64_t element = bf16 ? 2 : 4;
  plan.keys_bytes = layout.page_tokens * layout.head_dim * element;
  plan.values_bytes = layout.page_tokens * plan.head.value_width * element;
  plan.scratch_bytes =
      RowBlock::ScratchBytes(plan.shape) +
      static_cast<size_t>(plan.unpack ? RoundUp(plan.keys_bytes, 64) + plan.values_bytes : 0);
  return plan;
}

// The first `tokens` tokens of one head of a page as a tile, widened into `scratch` where the kernels need
// it.
RowBlock::Tile PageTile(const KernelSet& kernels, const PagedCall& call, const Plan& plan,
                        const std::byte* page, int64_t tokens, std::byte* scratch) {
  RowBlock::Tile tile{page, page + plan.head.values_offset, plan.keys_bytes, plan.values_bytes};
  const bool int8 = call.layout.type == KvType::kInt8;
  if (int8) {
    tile.key_scales = reinterpret_cast<const float*>(page + plan.head.scales_offset);
    tile.value_scales = tile.key_scales + call.layout.page_tokens;
  }
  if (!plan.unpack) return tile;
  const bool bf16 = plan.shape.elements == RowBlock::Elements::kBf16;
  const auto unpack = !int8  ? kernels.unpack_bf16_f32
                      : bf16 ? kernels.unpack_int8_bf16
                             : kernels.unpack_int8_f32;
  std::byte* values = scratch + RoundUp(plan.keys_bytes, 64);
  unpack({tile.keys, CeilDiv(tokens, kKeyBlock) * (call.layout.head_dim / 2), kKeyBlock, scratch});
  unpack({tile.values, CeilDiv(tokens, 2), plan.head.value_width, values});
  tile.keys = scratch;
  tile.values = values;
  tile.key_bytes = tile.value_bytes = 0;  // in the cache already
  return tile;
}

// Tokens [first, first + rows) of a segment for one KV head.
void RunUnit(const KernelSet& kernels, const PagedCall& call, const Plan& plan, const KvSegment& segment,
             int64_t first, int64_t rows, int64_t kv_head, std::byte* scratch) {
  const int64_t head_dim = call.layout.head_dim, page_tokens = call.layout.page_tokens;
  RowBlock block(kernels, plan.shape, scratch);
  block.Start(rows * plan.group);
  const auto for_each_row = [&](auto&& body) {
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t g = 0; g < plan.group; ++g) body(r, kv_head * plan.group + g, r * plan.group + g);
    }
  };
  for_each_row([&](int64_t r, int64_t q_head, int64_t index) {
    block.SetQuery(index, call.q + (segment.first_row + first + r) * call.q_stride + q_head * head_dim);
  });
  const int64_t end = segment.past_tokens + first + rows;
  for (int64_t token = 0; token < end; token += page_tokens) {
    const int64_t tokens = std::min(page_tokens, end - token);
    for_each_row([&](int64_t r, int64_t, int64_t index) {
      const int64_t seen = segment.past_tokens + first + r + 1 - token;
      block.visible()[index] = static_cast<int32_t>(std::clamp<int64_t>(seen, 0, tokens));
    });
    const auto page = static_cast<size_t>(token / page_tokens);
    const size_t offset = static_cast<size_t>(kv_head) * plan.head.head_bytes;
    RowBlock::Tile tile = PageTile(kernels, call, plan, segment.pages[page] + offset, tokens,
                                   scratch + RowBlock::ScratchBytes(plan.shape));
    if (token + page_tokens < end) {
      tile.next_keys = segment.pages[page + 1] + offset;
    }
    block.Add(tile);
  }
  for_each_row([&](int64_t r, int64_t q_head, int64_t index) {
    block.Finish(index, call.out + ((segment.first_row + first + r) * call.q_heads + q_head) * head_dim);
  });
}

}  // namespace

void RunPagedAttention(KernelContext& context, const KernelSet& kernels, const PagedCall& call) {
  const KvLayout& layout = call.layout;
  SACCADE_CHECK(layout.page_tokens <= kMaxTileKeys && layout.page_tokens % kKeyBlock == 0 &&
                layout.head_dim % 2 == 0);
  const Plan plan = MakePlan(kernels, call);
  const int64_t unit_rows = plan.unit_rows;
  SACCADE_CHECK(plan.group <= kAttentionRows);
  int64_t units = 0;
  for (const KvSegment& segment : call.segments) units += CeilDiv(segment.rows, unit_rows);
  context.pool().ParallelFor(units * layout.kv_heads, [&](int64_t task, int worker) {
    // The last rows of a prompt see most tokens: they go first, so that no thread is left with them at the
    // end.
    int64_t unit = units - 1 - task / layout.kv_heads;
    size_t index = 0;
    while (unit >= CeilDiv(call.segments[index].rows, unit_rows)) {
      unit -= CeilDiv(call.segments[index++].rows, unit_rows);
    }
    const KvSegment& segment = call.segments[index];
    const int64_t first = unit * unit_rows;
    RunUnit(kernels, call, plan, segment, first, std::min(unit_rows, segment.rows - first),
            task % layout.kv_heads, context.WorkerScratch(worker, plan.scratch_bytes));
  });
}

}  // namespace saccade
