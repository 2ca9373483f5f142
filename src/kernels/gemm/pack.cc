// Packs weight matrices into the block layout of kernels/layout.h. Runs once per model, threaded over blocks.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/check.h"
#include "kernels/kernels.h"
#include "kernels/layout.h"
#include "kernels/quantize/quantize.h"
#include "kernels/registry.h"

namespace saccade {
namespace {

// Row `row` of a [n, k] tensor as floats.
void ReadRow(const TensorView& source, int64_t row, int64_t k, float* out) {
  TensorView view{source.dtype, {k}, {}};
  const size_t bytes = static_cast<size_t>(k * DTypeBytes(source.dtype));
  view.bytes = source.bytes.subspan(static_cast<size_t>(row) * bytes, bytes);
  CopyAsFloat(view, out);
}

void PackF32Column(const float* w, int64_t k, int column, std::byte* block) {
  for (int64_t i = 0; i < k; ++i) {
    std::memcpy(block + (static_cast<size_t>(i) * kBlockColumns + static_cast<size_t>(column)) * 4, w + i, 4);
  }
}

void PackBf16Column(const float* w, int64_t k, int column, std::byte* block) {
  for (int64_t i = 0; i < k; ++i) {
    const uint16_t bits = FloatToBf16(w[i]);
    const int64_t word = i / 2 * kBlockColumns + column;
    std::memcpy(block + static_cast<size_t>(word * 4 + i % 2 * 2), &bits, 2);
  }
}

// Group `group` of one column, zero-padded past k.
std::array<float, kGroupSize> GroupOf(const float* w, int64_t k, int64_t group) {
  std::array<float, kGroupSize> values{};
  const int64_t first = group * kGroupSize;
  std::copy(w + first, w + std::min(k, first + kGroupSize), values.begin());
  return values;
}

void StoreScale(std::byte* group, int column, float scale) {
  const uint16_t bits = FloatToBf16(scale);
  std::memcpy(group + 2 * ScaleIndex(column), &bits, 2);
}

void PackInt8Column(const float* w, int64_t k, int column, TryScale try_scale, std::byte* block) {
  for (int64_t g = 0; g < CeilDiv(k, kGroupSize); ++g, block += kInt8GroupBytes) {
    std::array<int8_t, kGroupSize> codes;
    StoreScale(block, column, QuantizeInt8Group(GroupOf(w, k, g).data(), codes.data(), try_scale));
    for (int i = 0; i < kGroupSize; ++i) {
      block[kScaleBytes + i / 4 * kBlockColumns * 4 + column * 4 + i % 4] =
          static_cast<std::byte>(codes[static_cast<size_t>(i)] + 128);
    }
  }
}

void PackInt4Column(const float* w, int64_t k, int column, TryScale try_scale, std::byte* block) {
  for (int64_t g = 0; g < CeilDiv(k, kGroupSize); ++g, block += kInt4GroupBytes) {
    std::array<uint8_t, kGroupSize> codes;
    StoreScale(block, column, QuantizeInt4Group(GroupOf(w, k, g).data(), codes.data(), try_scale));
    for (int i = 0; i < kGroupSize; ++i) {
      std::byte& byte = block[kScaleBytes + i / 4 * kBlockColumns * 2 + column % 16 * 4 + i % 4];
      const auto code = static_cast<std::byte>(codes[static_cast<size_t>(i)]);
      byte = column < 16 ? (byte & std::byte{0xf0}) | code : (byte & std::byte{0x0f}) | code << 4;
    }
  }
}

void PackColumn(const KernelSet& kernels, WeightType type, const float* w, int64_t k, int column,
                std::byte* block) {
  switch (type) {
    case WeightType::kF32:
      return PackF32Column(w, k, column, block);
    case WeightType::kBf16:
      return PackBf16Column(w, k, column, block);
    case WeightType::kInt8:
      return PackInt8Column(w, k, column,
                            kernels.try_scale_int8 != nullptr ? kernels.try_scale_int8 : TryScaleInt8, block);
    case WeightType::kInt4:
      return PackInt4Column(w, k, column,
                            kernels.try_scale_int4 != nullptr ? kernels.try_scale_int4 : TryScaleInt4, block);
  }
}

// Packs rows [first, first + kBlockColumns) of the stacked sources; rows past the end become zeros.
void PackBlock(const KernelSet& kernels, WeightType type, std::span<const TensorView> sources, int64_t first,
               int64_t k, std::byte* block) {
  std::memset(block, 0, BlockBytes(type, k));
  std::vector<float> row(static_cast<size_t>(k));
  for (int column = 0; column < kBlockColumns; ++column) {
    int64_t index = first + column;
    const TensorView* source = nullptr;
    for (const TensorView& candidate : sources) {
      if (index < candidate.shape[0]) {
        source = &candidate;
        break;
      }
      index -= candidate.shape[0];
    }
    if (source != nullptr) {
      ReadRow(*source, index, k, row.data());
    } else {
      std::fill(row.begin(), row.end(), 0.0F);
    }
    PackColumn(kernels, type, row.data(), k, column, block);
  }
}

void CheckSource(const TensorView& source, int64_t k) {
  SACCADE_CHECK(source.shape.size() == 2 && source.shape[1] == k);
  SACCADE_CHECK(source.bytes.size() == static_cast<size_t>(source.elements() * DTypeBytes(source.dtype)));
}

}  // namespace

size_t PackedBytes(WeightType type, int64_t n, int64_t k) {
  return static_cast<size_t>(CeilDiv(n, kBlockColumns)) * BlockBytes(type, k);
}

PackedMatrix PackMatrix(KernelContext& context, WeightType type, const TensorView& source,
                        std::byte* destination) {
  return PackStacked(context, type, std::span(&source, 1), destination);
}

PackedMatrix PackStacked(KernelContext& context, WeightType type, std::span<const TensorView> sources,
                         std::byte* destination) {
  SACCADE_CHECK(!sources.empty() && sources[0].shape.size() == 2);
  const int64_t k = sources[0].shape[1];
  int64_t n = 0;
  for (const TensorView& source : sources) {
    CheckSource(source, k);
    n += source.shape[0];
  }
  const size_t block_bytes = BlockBytes(type, k);
  context.pool().ParallelFor(CeilDiv(n, kBlockColumns), [&](int64_t block, int) {
    PackBlock(KernelsFor(context.isa()), type, sources, block * kBlockColumns, k,
              destination + static_cast<size_t>(block) * block_bytes);
  });
  return {type, n, k, false, destination, PackedBytes(type, n, k)};
}

PackedMatrix PackGateUp(KernelContext& context, WeightType type, const TensorView& gate, const TensorView& up,
                        std::byte* destination) {
  SACCADE_CHECK(gate.shape.size() == 2 && gate.shape == up.shape);
  const int64_t n = gate.shape[0], k = gate.shape[1];
  CheckSource(gate, k);
  CheckSource(up, k);
  const size_t block_bytes = BlockBytes(type, k);
  context.pool().ParallelFor(2 * CeilDiv(n, kBlockColumns), [&](int64_t block, int) {
    const TensorView& source = block % 2 == 0 ? gate : up;
    PackBlock(KernelsFor(context.isa()), type, std::span(&source, 1), block / 2 * kBlockColumns, k,
              destination + static_cast<size_t>(block) * block_bytes);
  });
  return {type, 2 * n, k, true, destination, 2 * PackedBytes(type, n, k)};
}

void UnpackRow(const PackedMatrix& matrix, int64_t row, float* out) {
  SACCADE_CHECK(row >= 0 && row < matrix.n);
  const int64_t half = matrix.n / 2;
  const int64_t local = matrix.gate_up ? row % half : row;
  const int64_t block = matrix.gate_up ? local / kBlockColumns * 2 + row / half : local / kBlockColumns;
  const int column = static_cast<int>(local % kBlockColumns);
  const std::byte* data = matrix.data + static_cast<size_t>(block) * BlockBytes(matrix.type, matrix.k);
  const bool int8 = matrix.type == WeightType::kInt8;
  for (int64_t i = 0; i < matrix.k; ++i) {
    if (matrix.type == WeightType::kF32) {
      std::memcpy(out + i, data + (i * kBlockColumns + column) * 4, 4);
      continue;
    }
    uint16_t bits = 0;
    if (matrix.type == WeightType::kBf16) {
      std::memcpy(&bits, data + (i / 2 * kBlockColumns + column) * 4 + i % 2 * 2, 2);
      out[i] = Bf16ToFloat(bits);
      continue;
    }
    const std::byte* group = data + i / kGroupSize * (int8 ? kInt8GroupBytes : kInt4GroupBytes);
    const int64_t step = i % kGroupSize / 4;
    std::memcpy(&bits, group + 2 * ScaleIndex(column), 2);
    const std::byte* codes = group + kScaleBytes;
    int level = 0;
    if (int8) {
      level = std::to_integer<int>(codes[step * kBlockColumns * 4 + column * 4 + i % 4]) - 128;
    } else {
      const int byte = std::to_integer<int>(codes[step * kBlockColumns * 2 + column % 16 * 4 + i % 4]);
      level = kInt4Levels[column < 16 ? byte & 15 : byte >> 4];
    }
    out[i] = static_cast<float>(level) * Bf16ToFloat(bits);
  }
}

}  // namespace saccade
