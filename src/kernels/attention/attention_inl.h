// Attention tiles over the vocabulary of simd_<isa>.h, which the including ISA file has brought in. A Dot
// policy says what a 32-bit word is: struct { Operand, static Operand LoadWords(p), Broadcast(p), Vec
// Sum(acc, x, b), void StorePair(words, first, second) }. Internal linkage.
#pragma once

#include "kernels/tile.h"

namespace saccade {
namespace {

// A row tile times two vectors: as many accumulators as the register file takes.
constexpr int kTileRows = kLanes == 16 ? 12 : 6;
static_assert(kQueryTile % kTileRows == 0);
constexpr float kLowest = -3.0e38F;

// Scores of `rows` rows against `vectors` vectors of keys from key `column` on. q: [words][stride].
template <class Dot, int rows, int vectors>
void ScorePanel(const ScoreTile& tile, const uint32_t* q, int64_t q_stride, int64_t column, float* scores) {
  const uint32_t* keys[2];
  SACCADE_UNROLL
  for (int h = 0; h < vectors; ++h) {
    const int64_t key = column + h * kLanes;
    keys[h] =
        static_cast<const uint32_t*>(tile.keys) + key / kKeyBlock * tile.words * kKeyBlock + key % kKeyBlock;
  }
  Vec sums[rows][vectors];
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) sums[r][h] = Zero();
  }
  for (int64_t word = 0; word < tile.words; ++word, q += q_stride) {
    typename Dot::Operand b[vectors];
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) b[h] = Dot::LoadWords(keys[h] + word * kKeyBlock);
    SACCADE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const typename Dot::Operand x = Dot::Broadcast(q + r);
      SACCADE_UNROLL
      for (int h = 0; h < vectors; ++h) sums[r][h] = Dot::Sum(sums[r][h], x, b[h]);
    }
  }
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) Store(scores + r * kScoreStride + column + h * kLanes, sums[r][h]);
  }
}

template <class Dot, int rows>
void ScoreRows(const ScoreTile& tile, const uint32_t* q, int64_t q_stride, float* scores) {
  const int64_t keys = tile.blocks * kKeyBlock;
  int64_t column = 0;
  for (; column + 2 * kLanes <= keys; column += 2 * kLanes) {
    ScorePanel<Dot, rows, 2>(tile, q, q_stride, column, scores);
  }
  for (; column < keys; column += kLanes) ScorePanel<Dot, rows, 1>(tile, q, q_stride, column, scores);
}

template <class Dot, int rows>
void DispatchScores(const ScoreTile& tile, int64_t count, const uint32_t* q, int64_t q_stride,
                    float* scores) {
  if constexpr (rows > 0) {
    if (count == rows) return ScoreRows<Dot, rows>(tile, q, q_stride, scores);
    return DispatchScores<Dot, rows - 1>(tile, count, q, q_stride, scores);
  }
}

template <class Dot>
void Scores(const ScoreTile& tile) {
  for (int64_t first = 0; first < tile.rows; first += kQueryTile) {
    const int64_t stored = tile.rows - first < kQueryTile ? tile.rows - first : kQueryTile;
    for (int64_t r = 0; r < stored; r += kTileRows) {
      const int64_t count = stored - r < kTileRows ? stored - r : kTileRows;
      const uint32_t* q = tile.q + first * tile.words + r;
      DispatchScores<Dot, kTileRows>(tile, count, q, stored, tile.scores + (first + r) * kScoreStride);
    }
  }
}

// A score times the scale of its key, if any.
inline Vec KeyScaled(const SoftmaxTile& tile, const float* scores, int64_t key) {
  const Vec s = Load(scores + key);
  return tile.key_scales != nullptr ? Mul(s, Load(tile.key_scales + key)) : s;
}

inline float FirstOf(Vec v) {
  float values[kLanes];
  Store(values, v);
  return values[0];
}

// Probabilities of one vector, its masked lanes zero; adds the unscaled ones to `sum`.
inline Vec Probabilities(const SoftmaxTile& tile, const float* scores, int64_t key, int64_t visible, Vec max,
                         Vec& sum) {
  if (key >= visible) return Zero();
  Vec p = Exp(Sub(Mul(KeyScaled(tile, scores, key), Set(tile.scale)), max));
  if (visible - key < kLanes) p = KeepFirst(p, visible - key);
  sum = Add(sum, p);
  if (tile.value_scales == nullptr) return p;
  return KeepFirst(Mul(p, Load(tile.value_scales + key)), visible - key);
}

// A NaN score makes its probability, the sum and so the whole output row NaN.
template <class Dot>
void SoftmaxRow(const SoftmaxTile& tile, int64_t row) {
  float* scores = tile.scores + row * kScoreStride;
  const int64_t visible = tile.visible[row];
  Vec largest = Set(kLowest);
  for (int64_t key = 0; key < visible; key += kLanes) {
    largest = MaxFirst(largest, KeyScaled(tile, scores, key), visible - key);
  }
  const float new_max = ReduceMax(largest) * tile.scale;
  const float max = new_max > tile.max[row] ? new_max : tile.max[row];
  const float alpha = FirstOf(Exp(Set(tile.max[row] - max)));
  Vec sum = Zero();
  for (int64_t key = 0; key < visible; key += 2 * kLanes) {
    const Vec first = Probabilities(tile, scores, key, visible, Set(max), sum);
    const Vec second = Probabilities(tile, scores, key + kLanes, visible, Set(max), sum);
    Dot::StorePair(scores, key, first, second);
  }
  tile.max[row] = max;
  tile.alpha[row] = alpha;
  tile.sum[row] = tile.sum[row] * alpha + ReduceAdd(sum);
}

// Zero words from the last visible pair of vectors to the end of the steps the value kernel takes.
template <class Dot>
void Softmax(const SoftmaxTile& tile) {
  int64_t widest = 0;
  for (int64_t row = 0; row < tile.rows; ++row) {
    if (tile.visible[row] > widest) widest = tile.visible[row];
  }
  for (int64_t row = 0; row < tile.rows; ++row) {
    SoftmaxRow<Dot>(tile, row);
    constexpr int64_t kPair = 2 * kLanes;
    int64_t key = (tile.visible[row] + kPair - 1) / kPair * kPair;
    for (; key < widest; key += kPair) Dot::StorePair(tile.scores + row * kScoreStride, key, Zero(), Zero());
  }
}

template <class Dot, int rows, int vectors>
void ValuePanel(const ValueTile& tile, int64_t row, int64_t column) {
  const uint32_t* p = static_cast<const uint32_t*>(tile.probabilities) + row * kScoreStride;
  const uint32_t* values = static_cast<const uint32_t*>(tile.values) + column;
  float* o = tile.o + row * tile.width + column;
  Vec sums[rows][vectors];
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const Vec alpha = Set(tile.alpha[row + r]);
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) sums[r][h] = Mul(alpha, Load(o + r * tile.width + h * kLanes));
  }
  for (int64_t step = 0; step < tile.steps; ++step, values += tile.width) {
    typename Dot::Operand b[vectors];
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) b[h] = Dot::LoadWords(values + h * kLanes);
    SACCADE_UNROLL
    for (int r = 0; r < rows; ++r) {
      const typename Dot::Operand x = Dot::Broadcast(p + r * kScoreStride + step);
      SACCADE_UNROLL
      for (int h = 0; h < vectors; ++h) sums[r][h] = Dot::Sum(sums[r][h], x, b[h]);
    }
  }
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) Store(o + r * tile.width + h * kLanes, sums[r][h]);
  }
}

template <class Dot, int rows>
void DispatchValues(const ValueTile& tile, int64_t count, int64_t row) {
  if constexpr (rows > 0) {
    if (count != rows) return DispatchValues<Dot, rows - 1>(tile, count, row);
    int64_t column = 0;
    for (; column + 2 * kLanes <= tile.width; column += 2 * kLanes)
      ValuePanel<Dot, rows, 2>(tile, row, column);
    for (; column < tile.width; column += kLanes) ValuePanel<Dot, rows, 1>(tile, row, column);
  }
}

template <class Dot>
void Values(const ValueTile& tile) {
  for (int64_t row = 0; row < tile.rows; row += kTileRows) {
    DispatchValues<Dot, kTileRows>(tile, tile.rows - row < kTileRows ? tile.rows - row : kTileRows, row);
  }
}

// Words are floats.
struct DotF32 {
  using Operand = Vec;
  static Vec LoadWords(const uint32_t* p) { return Load(reinterpret_cast<const float*>(p)); }
  static Vec Broadcast(const uint32_t* p) { return Set(*reinterpret_cast<const float*>(p)); }
  static Vec Sum(Vec sum, Vec x, Vec b) { return MulAdd(x, b, sum); }
  static void StorePair(float* row, int64_t key, Vec first, Vec second) {
    Store(row + key, first);
    Store(row + key + kLanes, second);
  }
};

}  // namespace
}  // namespace saccade
