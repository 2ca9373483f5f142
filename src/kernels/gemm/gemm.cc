#include "kernels/gemm/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "kernels/layout.h"
#include "kernels/scratch.h"

namespace saccade {
namespace {

// Converted activations of one pass. Rows beyond it are a further pass over the weights: 8 MB stay in a
// shared L3 and keep the scratch bounded whatever the number of patches.
constexpr int64_t kPassBytes = int64_t{8} << 20;
// Converted activations that one task multiplies with a block of weights, to stay in a 1 MB L2 beside the
// block.
constexpr int64_t kRowBlockBytes = int64_t{640} << 10;
constexpr int64_t kMaxRowBlock = 384;
// Bytes of a weight block that all tiles of a row block pass over before the next ones. They stay in L2, from
// which one stream with prefetching keeps up; blocks of 16 KB for L1 were 3-5 % slower on Zen 4 because of
// the sums.
constexpr int64_t kStepBlockBytes = int64_t{128} << 10;
// From this many rows on an int4 block is decoded to int8 once per row block instead of in every tile.
constexpr int64_t kDecodeRows = 37;
// Strips of one task when rows are few: long sequential reads for the hardware prefetcher.
constexpr int64_t kFewRows = 32;
constexpr int64_t kFewRowsTaskBytes = int64_t{128} << 10;

// The product cut into pieces. `steps` are kernel steps along k; a tile of activations is contiguous.
struct Plan {
  const GemmEntry* gemm;
  WeightType block_type;  // of the block the kernel reads: kInt8 for decoded int4
  int64_t tile_rows;
  int64_t steps;
  int64_t step_block;    // steps per sweep
  int64_t a_step_words;  // 32-bit words of one row and step
  int64_t b_step_bytes;
  int64_t row_words;  // a_step_words * steps
  int64_t pass_rows;
  int64_t row_block;  // rows per task, a multiple of tile_rows
  int64_t strips;     // blocks, or pairs of blocks for gate_up
  int64_t strips_per_task;
  bool decode;
};

int64_t KernelSteps(WeightType type, int64_t k) {
  const bool quantised = type == WeightType::kInt8 || type == WeightType::kInt4;
  return quantised ? CeilDiv(k, kGroupSize) : WordSteps(type, k);
}

int64_t ActivationStepWords(WeightType type, ActivationFormat format) {
  if (format == ActivationFormat::kInt8) return kInt8GroupWords;
  return format == ActivationFormat::kF32 && type == WeightType::kBf16 ? 2 : 1;
}

// Few rows are cut into the fewest tiles, of equal size: every tile is a pass over the weights.
int64_t TileRows(const GemmEntry& gemm, int64_t rows) {
  return rows <= kFewRows ? CeilDiv(rows, CeilDiv(rows, gemm.most_rows)) : gemm.tile_rows;
}

Plan MakePlan(const KernelSet& kernels, const PackedMatrix& weight, int64_t rows) {
  Plan plan{};
  plan.gemm = &kernels.gemm[static_cast<size_t>(weight.type)];
  plan.decode = weight.type == WeightType::kInt4 && rows >= kDecodeRows && kernels.decode_int4 != nullptr;
  if (plan.decode) plan.gemm = &kernels.gemm[static_cast<size_t>(WeightType::kInt8)];
  plan.block_type = plan.decode ? WeightType::kInt8 : weight.type;
  plan.steps = KernelSteps(weight.type, weight.k);
  plan.a_step_words = ActivationStepWords(weight.type, plan.gemm->activations);
  plan.b_step_bytes = static_cast<int64_t>(BlockBytes(plan.block_type, weight.k)) / plan.steps;
  plan.row_words = plan.a_step_words * plan.steps;
  const int64_t tile = TileRows(*plan.gemm, rows), row_bytes = plan.row_words * 4;
  plan.tile_rows = tile;
  plan.step_block = rows > tile ? std::max<int64_t>(1, kStepBlockBytes / plan.b_step_bytes) : plan.steps;
  plan.pass_rows = RoundUp(std::max<int64_t>(kPassBytes / row_bytes, 4 * tile), tile);
  const int64_t fitting = std::clamp<int64_t>(kRowBlockBytes / row_bytes, tile, kMaxRowBlock);
  const int64_t pass = std::min(rows, plan.pass_rows);
  plan.row_block = RoundUp(CeilDiv(pass, CeilDiv(pass, fitting)), tile);
  plan.strips = BlockCount(weight) / (weight.gate_up ? 2 : 1);
  plan.strips_per_task = 1;
  if (rows <= kFewRows) {
    const auto strip_bytes =
        static_cast<int64_t>(BlockBytes(weight.type, weight.k)) * (weight.gate_up ? 2 : 1);
    plan.strips_per_task = std::max<int64_t>(1, kFewRowsTaskBytes / strip_bytes);
  }
  return plan;
}

// Converts rows [0, rows) of x to one activation tile at `tile`. `row_scratch` holds one converted row.
void PackTile(const KernelSet& kernels, const Plan& plan, const float* x, int64_t x_stride, int64_t k,
              int64_t rows, uint32_t* row_scratch, uint32_t* tile) {
  const bool int8 = plan.gemm->activations == ActivationFormat::kInt8;
  const int64_t codes = int8 ? plan.steps * kGroupSteps : plan.row_words;
  auto* scales = reinterpret_cast<float*>(row_scratch + codes);
  auto* starts = reinterpret_cast<int32_t*>(row_scratch + codes + plan.steps);
  const RowConversion conversion{nullptr, k, row_scratch, codes, scales, starts};
  for (int64_t r = 0; r < rows; ++r, x += x_stride) {
    RowConversion row = conversion;
    row.x = x;
    if (!int8) {
      if (plan.gemm->activations == ActivationFormat::kBf16) {
        kernels.round_row(row);
      } else {
        std::memcpy(row_scratch, x, static_cast<size_t>(k) * 4);
        std::fill(row_scratch + k, row_scratch + codes, 0U);
      }
      for (int64_t i = 0; i < codes; ++i) tile[i * rows + r] = row_scratch[i];
      continue;
    }
    kernels.quantize_row(row);
    uint32_t* group = tile;
    for (int64_t g = 0; g < plan.steps; ++g, group += rows * kInt8GroupWords) {
      std::memcpy(group + r, starts + g, 4);
      std::memcpy(group + rows + r, scales + g, 4);
      for (int64_t i = 0; i < kGroupSteps; ++i) group[(2 + i) * rows + r] = row_scratch[g * kGroupSteps + i];
    }
  }
}

// Per-worker memory of one task.
struct TaskScratch {
  float* strip;        // [row_block][32 or 64]
  std::byte* decoded;  // int8 block
  uint32_t* row;       // one converted row
  static size_t Bytes(const Plan& plan, const PackedMatrix& weight) {
    const auto strip = static_cast<size_t>(plan.row_block * 2 * kBlockColumns) * sizeof(float);
    const size_t decoded = plan.decode ? BlockBytes(WeightType::kInt8, weight.k) : 0;
    return strip + decoded + static_cast<size_t>(RoundUp(plan.row_words, 16)) * 4;
  }
  TaskScratch(KernelContext& context, const Plan& plan, const PackedMatrix& weight, int worker) {
    std::byte* memory = context.WorkerScratch(worker, Bytes(plan, weight));
    strip = reinterpret_cast<float*>(memory);
    decoded = memory + static_cast<size_t>(plan.row_block * 2 * kBlockColumns) * sizeof(float);
    row = reinterpret_cast<uint32_t*>(decoded + (plan.decode ? BlockBytes(WeightType::kInt8, weight.k) : 0));
  }
};

// strip[rows][c_stride] = activations x one packed block.
void MultiplyBlock(const KernelSet& kernels, const Plan& plan, const std::byte* block,
                   const uint32_t* activations, int64_t rows, const TaskScratch& scratch, float* strip,
                   int64_t c_stride) {
  if (plan.decode) {
    kernels.decode_int4({block, scratch.decoded, plan.steps});
    block = scratch.decoded;
  }
  const int64_t tile_rows = plan.tile_rows;
  for (int64_t step = 0; step < plan.steps; step += plan.step_block) {
    const int64_t steps = std::min(plan.step_block, plan.steps - step);
    for (int64_t row = 0; row < rows; row += tile_rows) {
      const int64_t count = std::min(tile_rows, rows - row);
      const uint32_t* a = activations + row * plan.row_words + step * count * plan.a_step_words;
      plan.gemm->run(
          {a, block + step * plan.b_step_bytes, steps, count, strip + row * c_stride, c_stride, step > 0});
    }
  }
}

StripOp OpOf(Epilogue epilogue) {
  switch (epilogue) {
    case Epilogue::kNone:
      return StripOp::kStore;
    case Epilogue::kGeluTanh:
      return StripOp::kGeluTanh;
    case Epilogue::kGeluErf:
      return StripOp::kGeluErf;
    case Epilogue::kAdd:
      return StripOp::kAdd;
    case Epilogue::kSwiGlu:
      return StripOp::kSwiGlu;
  }
  return StripOp::kStore;
}

// Rows [first, first + rows) of one strip, from product to output.
void RunStrip(const KernelSet& kernels, const Plan& plan, const LinearCall& call, const uint32_t* activations,
              int64_t first, int64_t rows, int64_t strip, const TaskScratch& scratch) {
  const PackedMatrix& weight = *call.weight;
  const int64_t block_bytes = static_cast<int64_t>(BlockBytes(weight.type, weight.k));
  const int64_t blocks = weight.gate_up ? 2 : 1, c_stride = blocks * kBlockColumns;
  for (int64_t i = 0; i < blocks; ++i) {
    MultiplyBlock(kernels, plan, weight.data + (strip * blocks + i) * block_bytes, activations, rows, scratch,
                  scratch.strip + i * kBlockColumns, c_stride);
  }
  const int64_t n = weight.n / blocks, column = strip * kBlockColumns;
  StripTile tile{};
  tile.c = scratch.strip;
  tile.c_stride = c_stride;
  tile.rows = rows;
  tile.columns = std::min<int64_t>(kBlockColumns, n - column);
  tile.bias = call.bias != nullptr ? call.bias + column : nullptr;
  tile.up_bias = call.bias != nullptr && weight.gate_up ? call.bias + n + column : nullptr;
  tile.op = OpOf(call.epilogue);
  tile.out = call.out + first * call.out_stride + column;
  tile.out_stride = call.out_stride;
  kernels.strip(tile);
}

// Rows [first, first + rows) of the product.
void RunPass(KernelContext& context, const KernelSet& kernels, const Plan& plan, const LinearCall& call,
             int64_t first, int64_t rows) {
  const PackedMatrix& weight = *call.weight;
  const int64_t tile_rows = plan.tile_rows, tiles = CeilDiv(rows, tile_rows);
  auto* packed = reinterpret_cast<uint32_t*>(
      context.SharedScratch(kGemmScratch, static_cast<size_t>(tiles * tile_rows * plan.row_words) * 4));
  context.pool().ParallelFor(tiles, [&](int64_t tile, int worker) {
    const int64_t row = tile * tile_rows;
    PackTile(kernels, plan, call.x + (first + row) * call.x_stride, call.x_stride, weight.k,
             std::min(tile_rows, rows - row), TaskScratch(context, plan, weight, worker).row,
             packed + row * plan.row_words);
  });
  const int64_t row_blocks = CeilDiv(rows, plan.row_block);
  const int64_t column_tasks = CeilDiv(plan.strips, plan.strips_per_task);
  context.pool().ParallelFor(row_blocks * column_tasks, [&](int64_t task, int worker) {
    const TaskScratch scratch(context, plan, weight, worker);
    const int64_t row = task / column_tasks * plan.row_block;
    const int64_t count = std::min(plan.row_block, rows - row);
    const int64_t begin = task % column_tasks * plan.strips_per_task;
    const int64_t end = std::min(begin + plan.strips_per_task, plan.strips);
    for (int64_t strip = begin; strip < end; ++strip) {
      RunStrip(kernels, plan, call, packed + row * plan.row_words, first + row, count, strip, scratch);
    }
  });
}

}  // namespace

void RunLinear(KernelContext& context, const KernelSet& kernels, const LinearCall& call) {
  const Plan plan = MakePlan(kernels, *call.weight, call.rows);
  for (int64_t first = 0; first < call.rows; first += plan.pass_rows) {
    RunPass(context, kernels, plan, call, first, std::min(plan.pass_rows, call.rows - first));
  }
}

}  // namespace saccade
