#include "kernels/reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/layout.h"
#include "kernels/quantize/quantize.h"

namespace saccade::reference {
namespace {

using Columns = std::array<double, kBlockColumns>;

// One packed block, unpacked: levels[k][32] for quantised types (with scales[group][32]), else values[k][32].
struct UnpackedBlock {
  std::vector<float> values;
  std::vector<int8_t> levels;
  std::vector<float> scales;
};

void UnpackQuantised(WeightType type, const std::byte* data, int64_t groups, UnpackedBlock& block) {
  const bool int8 = type == WeightType::kInt8;
  block.levels.resize(static_cast<size_t>(groups * kGroupSize * kBlockColumns));
  block.scales.resize(static_cast<size_t>(groups * kBlockColumns));
  int8_t* level = block.levels.data();
  float* scale = block.scales.data();
  for (int64_t g = 0; g < groups; ++g, data += int8 ? kInt8GroupBytes : kInt4GroupBytes) {
    for (int column = 0; column < kBlockColumns; ++column) {
      uint16_t bits = 0;
      std::memcpy(&bits, data + 2 * ScaleIndex(column), 2);
      *scale++ = Bf16ToFloat(bits);
    }
    for (int i = 0; i < kGroupSize; ++i) {
      for (int column = 0; column < kBlockColumns; ++column) {
        const std::byte* codes = data + kScaleBytes;
        if (int8) {
          const std::byte code = codes[i / 4 * kBlockColumns * 4 + column * 4 + i % 4];
          *level++ = static_cast<int8_t>(std::to_integer<int>(code) - 128);
        } else {
          const int byte = std::to_integer<int>(codes[i / 4 * kBlockColumns * 2 + column % 16 * 4 + i % 4]);
          *level++ = kInt4Levels[column < 16 ? byte & 15 : byte >> 4];
        }
      }
    }
  }
}

UnpackedBlock Unpack(const PackedMatrix& weight, int64_t index) {
  UnpackedBlock block;
  const std::byte* data = weight.data + static_cast<size_t>(index) * BlockBytes(weight.type, weight.k);
  if (weight.type == WeightType::kInt8 || weight.type == WeightType::kInt4) {
    UnpackQuantised(weight.type, data, CeilDiv(weight.k, kGroupSize), block);
    return block;
  }
  block.values.resize(static_cast<size_t>(weight.k * kBlockColumns));
  for (int64_t i = 0; i < weight.k; ++i) {
    for (int64_t column = 0; column < kBlockColumns; ++column) {
      float& value = block.values[static_cast<size_t>(i * kBlockColumns + column)];
      if (weight.type == WeightType::kF32) {
        std::memcpy(&value, data + (i * kBlockColumns + column) * 4, 4);
      } else {
        uint16_t bits = 0;
        std::memcpy(&bits, data + (i / 2 * kBlockColumns + column) * 4 + i % 2 * 2, 2);
        value = Bf16ToFloat(bits);
      }
    }
  }
  return block;
}

Columns DotQuantised(const float* x, int64_t k, const UnpackedBlock& block) {
  Columns sums{};
  for (int64_t first = 0; first < k; first += kGroupSize) {
    std::array<int8_t, kGroupSize> q;
    const int64_t count = std::min<int64_t>(kGroupSize, k - first);
    const float x_scale = QuantizeActivations(x + first, count, q.data());
    std::array<int32_t, kBlockColumns> group{};
    const int8_t* levels = block.levels.data() + first * kBlockColumns;
    for (int64_t i = 0; i < count; ++i) {
      for (size_t column = 0; column < kBlockColumns; ++column) {
        group[column] += int{q[static_cast<size_t>(i)]} * int{*levels++};
      }
    }
    const float* scales = block.scales.data() + first / kGroupSize * kBlockColumns;
    for (size_t column = 0; column < kBlockColumns; ++column) {
      sums[column] += static_cast<double>(group[column]) * double{x_scale * scales[column]};
    }
  }
  return sums;
}

Columns Dot(const float* x, int64_t k, const UnpackedBlock& block) {
  if (!block.levels.empty()) return DotQuantised(x, k, block);
  Columns sums{};
  const float* values = block.values.data();
  for (int64_t i = 0; i < k; ++i) {
    for (double& sum : sums) sum += double{x[i]} * double{*values++};
  }
  return sums;
}

void Store(const Columns& sums, const float* bias, int64_t columns, Epilogue epilogue, float* out) {
  for (int64_t j = 0; j < columns; ++j) {
    const auto value =
        static_cast<float>(sums[static_cast<size_t>(j)] + (bias != nullptr ? double{bias[j]} : 0.0));
    switch (epilogue) {
      case Epilogue::kGeluTanh:
        out[j] = GeluTanh(value);
        break;
      case Epilogue::kGeluErf:
        out[j] = GeluErf(value);
        break;
      case Epilogue::kAdd:
        out[j] += value;
        break;
      default:
        out[j] = value;
        break;
    }
  }
}

void SwiGluBlock(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& weight, int64_t block,
                 const float* bias, float* out, int64_t out_stride) {
  const int64_t n = weight.n / 2, first = block * kBlockColumns;
  const int64_t columns = std::min<int64_t>(kBlockColumns, n - first);
  const UnpackedBlock gate_block = Unpack(weight, 2 * block), up_block = Unpack(weight, 2 * block + 1);
  for (int64_t row = 0; row < rows; ++row) {
    const Columns gates = Dot(x + row * x_stride, weight.k, gate_block);
    const Columns ups = Dot(x + row * x_stride, weight.k, up_block);
    for (int64_t j = 0; j < columns; ++j) {
      const auto c = static_cast<size_t>(j);
      const auto gate = static_cast<float>(gates[c] + (bias != nullptr ? double{bias[first + j]} : 0.0));
      const auto up = static_cast<float>(ups[c] + (bias != nullptr ? double{bias[n + first + j]} : 0.0));
      out[row * out_stride + first + j] = Silu(gate) * up;
    }
  }
}

// Softmax-weighted sum over `count` tokens; read(token) yields {key, value}.
template <class Read>
void Attend(const float* q, int64_t count, int head_dim, float* out, Read&& read) {
  std::vector<double> scores(static_cast<size_t>(count));
  double largest = -std::numeric_limits<double>::infinity();
  bool nan = false;
  for (int64_t t = 0; t < count; ++t) {
    double score = 0.0;
    const float* key = read(t).first;
    for (int i = 0; i < head_dim; ++i) score += double{q[i]} * double{key[i]};
    score /= std::sqrt(static_cast<double>(head_dim));
    nan = nan || std::isnan(score);
    largest = std::max(largest, score);
    scores[static_cast<size_t>(t)] = score;
  }
  std::vector<double> sums(static_cast<size_t>(head_dim));
  double total = 0.0;
  for (int64_t t = 0; t < count; ++t) {
    const double p = nan ? std::nan("") : std::exp(scores[static_cast<size_t>(t)] - largest);
    total += p;
    const float* value = read(t).second;
    for (int i = 0; i < head_dim; ++i) sums[static_cast<size_t>(i)] += p * double{value[i]};
  }
  for (int i = 0; i < head_dim; ++i) out[i] = static_cast<float>(sums[static_cast<size_t>(i)] / total);
}

}  // namespace

float GeluTanh(float x) {
  const double v = x;
  return static_cast<float>(0.5 * v * (1.0 + std::tanh(0.7978845608028654 * (v + 0.044715 * v * v * v))));
}

float GeluErf(float x) {
  return static_cast<float>(0.5 * double{x} * (1.0 + std::erf(double{x} * M_SQRT1_2)));
}

float Silu(float x) { return static_cast<float>(double{x} / (1.0 + std::exp(-double{x}))); }

void LinearBlock(const float* x, int64_t rows, int64_t x_stride, const PackedMatrix& weight, int64_t block,
                 const float* bias, Epilogue epilogue, float* out, int64_t out_stride) {
  if (epilogue == Epilogue::kSwiGlu) {
    SwiGluBlock(x, rows, x_stride, weight, block, bias, out, out_stride);
    return;
  }
  const int64_t first = block * kBlockColumns;
  const int64_t columns = std::min<int64_t>(kBlockColumns, weight.n - first);
  const UnpackedBlock unpacked = Unpack(weight, block);
  for (int64_t row = 0; row < rows; ++row) {
    const Columns sums = Dot(x + row * x_stride, weight.k, unpacked);
    Store(sums, bias != nullptr ? bias + first : nullptr, columns, epilogue, out + row * out_stride + first);
  }
}

void RmsNormRow(const float* x, int64_t width, const float* weight, float eps, float* out) {
  double sum = 0.0;
  for (int64_t i = 0; i < width; ++i) sum += double{x[i]} * double{x[i]};
  const double factor = 1.0 / std::sqrt(sum / static_cast<double>(width) + double{eps});
  for (int64_t i = 0; i < width; ++i) out[i] = static_cast<float>(double{x[i]} * factor * double{weight[i]});
}

void LayerNormRow(const float* x, int64_t width, const float* weight, const float* bias, float eps,
                  float* out) {
  double sum = 0.0, squares = 0.0;
  for (int64_t i = 0; i < width; ++i) sum += double{x[i]};
  const double mean = sum / static_cast<double>(width);
  for (int64_t i = 0; i < width; ++i) squares += (double{x[i]} - mean) * (double{x[i]} - mean);
  const double factor = 1.0 / std::sqrt(squares / static_cast<double>(width) + double{eps});
  for (int64_t i = 0; i < width; ++i) {
    out[i] = static_cast<float>((double{x[i]} - mean) * factor * double{weight[i]} + double{bias[i]});
  }
}

void NormRopeRow(float* x, int heads, int head_dim, const float* norm_weight, float eps, const float* cos,
                 const float* sin) {
  const int half = head_dim / 2;
  for (int head = 0; head < heads; ++head, x += head_dim) {
    if (norm_weight != nullptr) RmsNormRow(x, head_dim, norm_weight, eps, x);
    for (int i = 0; i < half; ++i) {
      const double a = x[i], b = x[half + i];
      x[i] = static_cast<float>(a * double{cos[i]} - b * double{sin[i]});
      x[half + i] = static_cast<float>(b * double{cos[i]} + a * double{sin[i]});
    }
  }
}

void VisionAttentionRow(const VisionRow& head, int64_t row, float* out) {
  Attend(head.q + row * head.stride, head.end - head.begin, head.head_dim, out, [&head](int64_t t) {
    const int64_t offset = (head.begin + t) * head.stride;
    return std::pair(head.k + offset, head.v + offset);
  });
}

namespace {

// Offsets in elements of component i of the key and the value of `slot`.
int64_t KeyElement(KvType type, const KvHeadLayout& layout, int64_t slot, int64_t i) {
  const int64_t block = slot / kKeyBlock * layout.key_words * kKeyBlock, lane = slot % kKeyBlock;
  return type == KvType::kBf16 ? (block + i / 2 * kKeyBlock + lane) * 2 + i % 2
                               : block + i * kKeyBlock + lane;
}

int64_t ValueElement(KvType type, const KvHeadLayout& layout, int64_t slot, int64_t i) {
  return type == KvType::kBf16 ? (slot / 2 * layout.value_width + i) * 2 + slot % 2
                               : slot * layout.value_width + i;
}

}  // namespace

void ReadKvToken(const KvLayout& layout, const std::byte* page, int64_t slot, int kv_head, float* k,
                 float* v) {
  const KvHeadLayout head = MakeKvHeadLayout(layout.type, layout.head_dim, layout.page_tokens);
  page += static_cast<size_t>(kv_head) * head.head_bytes;
  for (const bool key : {true, false}) {
    const std::byte* values = key ? page : page + head.values_offset;
    float scale = 1.0F;
    if (layout.type == KvType::kInt8) {
      std::memcpy(&scale, page + head.scales_offset + (key ? slot : layout.page_tokens + slot) * 4, 4);
    }
    for (int64_t i = 0; i < layout.head_dim; ++i) {
      const int64_t element =
          key ? KeyElement(layout.type, head, slot, i) : ValueElement(layout.type, head, slot, i);
      float value = 0.0F;
      if (layout.type == KvType::kF32) std::memcpy(&value, values + element * 4, 4);
      if (layout.type == KvType::kInt8)
        value = scale * static_cast<float>(static_cast<int8_t>(values[element]));
      if (layout.type == KvType::kBf16) {
        uint16_t bits = 0;
        std::memcpy(&bits, values + element * 2, 2);
        value = Bf16ToFloat(bits);
      }
      (key ? k : v)[i] = value;
    }
  }
}

void PagedAttentionRow(const KvLayout& layout, std::span<std::byte* const> pages, int64_t tokens, int kv_head,
                       const float* q, float* out) {
  std::vector<float> key(static_cast<size_t>(layout.head_dim)), value(static_cast<size_t>(layout.head_dim));
  Attend(q, tokens, layout.head_dim, out, [&](int64_t t) {
    const std::byte* page = pages[static_cast<size_t>(t / layout.page_tokens)];
    ReadKvToken(layout, page, t % layout.page_tokens, kv_head, key.data(), value.data());
    return std::pair<const float*, const float*>(key.data(), value.data());
  });
}

}  // namespace saccade::reference
