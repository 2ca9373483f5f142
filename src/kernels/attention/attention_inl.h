// Attention tiles over the vocabulary of simd_<isa>.h, which the including ISA file has brought in. A Dot
// policy says what an element of keys and values is:
//   Element, Operand                       types in memory and in a register
//   LoadElements(p), Broadcast(word)       one vector of elements; one word of queries or probabilities
//   Sum(sum, x, elements)                  multiply-add
//   StorePair(row, key, first, second)     probabilities of two vectors of keys as words (softmax only)
// Internal linkage.
#pragma once

#include "kernels/tile.h"

namespace saccade {
namespace {

// A row tile times two vectors: as many accumulators as the register file takes. With few rows (decode) four
// vectors, because two do not hide the latency of the multiply-add.
constexpr int kTileRows = kLanes == 16 ? 12 : 6;
static_assert(kQueryTile % kTileRows == 0);
constexpr int kFewRows = 2;
constexpr int kFewRowsKeyVectors = 2;
constexpr int kFewRowsValueVectors = kLanes == 16 ? 8 : 4;
constexpr float kLowest = -3.0e38F;

// Spreads prefetches of a stretch of memory, and then of another one, over the steps of a kernel.
struct Prefetcher {
  const char* cursor;
  const char* end;
  const char* next;
  const char* next_end;
  int64_t step_bytes;

  Prefetcher(const PrefetchRange& first, const PrefetchRange& second, int64_t steps)
      : cursor(static_cast<const char*>(first.start)),
        end(cursor + first.bytes),
        next(static_cast<const char*>(second.start)),
        next_end(next + second.bytes),
        step_bytes(((first.bytes + second.bytes) / 64 + steps) / (steps > 0 ? steps : 1) * 64) {}
  void Step() {
    if (cursor >= end) {
      if (next >= next_end) return;
      cursor = next;
      end = next_end;
      next = next_end;
    }
    const char* stop = cursor + step_bytes;
    for (; cursor < stop; cursor += 64) _mm_prefetch(cursor, _MM_HINT_T0);
  }
};

// sums[r][h] += words[r] * elements[h] for one step.
template <class Dot, int rows, int vectors, class WordOf>
inline void Step(Vec (&sums)[rows][vectors], const typename Dot::Element* const (&elements)[vectors],
                 int64_t offset, WordOf&& word_of) {
  typename Dot::Operand b[vectors];
  SACCADE_UNROLL
  for (int h = 0; h < vectors; ++h) b[h] = Dot::LoadElements(elements[h] + offset);
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const typename Dot::Operand x = Dot::Broadcast(word_of(r));
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) sums[r][h] = Dot::Sum(sums[r][h], x, b[h]);
  }
}

// Scores of `rows` rows against `vectors` vectors of keys from key `column` on. q: [words][q_stride].
template <class Dot, int rows, int vectors>
void ScorePanel(const ScoreTile& tile, const uint32_t* q, int64_t q_stride, int64_t column, float* scores,
                Prefetcher& prefetcher) {
  const typename Dot::Element* keys[vectors];
  SACCADE_UNROLL
  for (int h = 0; h < vectors; ++h) {
    const int64_t key = column + h * kLanes;
    keys[h] = static_cast<const typename Dot::Element*>(tile.keys) +
              key / kKeyBlock * tile.words * kKeyBlock + key % kKeyBlock;
  }
  Vec sums[rows][vectors];
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) sums[r][h] = Zero();
  }
  for (int64_t word = 0; word < tile.words; ++word, q += q_stride) {
    prefetcher.Step();
    Step<Dot, rows, vectors>(sums, keys, word * kKeyBlock, [q](int r) { return q + r; });
  }
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) Store(scores + r * kScoreStride + column + h * kLanes, sums[r][h]);
  }
}

template <class Dot, int rows>
void ScoreRows(const ScoreTile& tile, const uint32_t* q, int64_t q_stride, float* scores,
               Prefetcher& prefetcher) {
  const int64_t keys = tile.blocks * kKeyBlock;
  int64_t column = 0;
  if constexpr (rows <= kFewRows) {
    for (; column + kFewRowsKeyVectors * kLanes <= keys; column += kFewRowsKeyVectors * kLanes) {
      ScorePanel<Dot, rows, kFewRowsKeyVectors>(tile, q, q_stride, column, scores, prefetcher);
    }
  }
  for (; column + 2 * kLanes <= keys; column += 2 * kLanes) {
    ScorePanel<Dot, rows, 2>(tile, q, q_stride, column, scores, prefetcher);
  }
  for (; column < keys; column += kLanes) {
    ScorePanel<Dot, rows, 1>(tile, q, q_stride, column, scores, prefetcher);
  }
}

template <class Dot, int rows>
void DispatchScores(const ScoreTile& tile, int64_t count, const uint32_t* q, int64_t q_stride, float* scores,
                    Prefetcher& prefetcher) {
  if constexpr (rows > 0) {
    if (count == rows) return ScoreRows<Dot, rows>(tile, q, q_stride, scores, prefetcher);
    return DispatchScores<Dot, rows - 1>(tile, count, q, q_stride, scores, prefetcher);
  }
}

template <class Dot>
void Scores(const ScoreTile& tile) {
  const int64_t panels =
      (tile.blocks * kKeyBlock + kFewRowsKeyVectors * kLanes - 1) / (kFewRowsKeyVectors * kLanes);
  Prefetcher prefetcher(tile.prefetch, tile.prefetch_next, panels * tile.words);
  for (int64_t first = 0; first < tile.rows; first += kQueryTile) {
    const int64_t stored = tile.rows - first < kQueryTile ? tile.rows - first : kQueryTile;
    for (int64_t r = 0; r < stored; r += kTileRows) {
      const int64_t count = stored - r < kTileRows ? stored - r : kTileRows;
      const uint32_t* q = tile.q + first * tile.words + r;
      DispatchScores<Dot, kTileRows>(tile, count, q, stored, tile.scores + (first + r) * kScoreStride,
                                     prefetcher);
    }
  }
}

// ---- Softmax ----

// One vector of scores, times the scales of its keys if there are any.
template <bool scaled>
inline Vec KeyScaled(const SoftmaxTile& tile, const float* scores, int64_t key) {
  const Vec s = Load(scores + key);
  return scaled ? Mul(s, Load(tile.key_scales + key)) : s;
}

template <bool scaled>
float LargestScore(const SoftmaxTile& tile, const float* scores, int64_t visible) {
  Vec largest = Set(kLowest), other = largest;
  int64_t key = 0;
  for (; key + 2 * kLanes <= visible; key += 2 * kLanes) {
    largest = Max(largest, KeyScaled<scaled>(tile, scores, key));
    other = Max(other, KeyScaled<scaled>(tile, scores, key + kLanes));
  }
  for (; key < visible; key += kLanes) {
    largest = MaxFirst(largest, KeyScaled<scaled>(tile, scores, key), visible - key);
  }
  return ReduceMax(Max(largest, other));
}

// New maxima and the factors of what was summed before, for all rows at once.
inline void UpdateMaxima(const SoftmaxTile& tile, const float* largest) {
  for (int64_t row = 0; row < tile.rows; row += kLanes) {
    const int64_t left = tile.rows - row;
    const Vec before = LoadFirst(tile.max + row, left);
    const Vec after = Max(Mul(LoadFirst(largest + row, left), Set(tile.scale)), before);
    StoreFirst(tile.max + row, after, left);
    StoreFirst(tile.alpha + row, Exp2<false>(Sub(before, after)), left);
  }
}

// Probabilities of one vector of keys; adds them to `sum` before the scales of the values are multiplied in.
template <class Dot, bool scaled>
inline Vec Probabilities(const SoftmaxTile& tile, const float* scores, int64_t key, Vec max, Vec& sum) {
  const Vec p = Exp2<Dot::kCoarse>(MulAdd(KeyScaled<scaled>(tile, scores, key), Set(tile.scale), max));
  sum = Add(sum, p);
  return scaled ? Mul(p, Load(tile.value_scales + key)) : p;
}

// The same for the last vector, of which `left` (or none) of the keys are visible. Scales beyond them may be
// NaN.
template <class Dot, bool scaled>
inline Vec LastProbabilities(const SoftmaxTile& tile, const float* scores, int64_t key, int64_t left, Vec max,
                             Vec& sum) {
  if (left <= 0) return Zero();
  Vec ignored = Zero();
  const Vec p = KeepFirst(Probabilities<Dot, scaled>(tile, scores, key, max, ignored), left);
  sum = Add(sum, KeepFirst(ignored, left));
  return p;
}

// A NaN score makes its probability, the sum and so the whole output row NaN.
template <class Dot, bool scaled>
void SoftmaxRow(const SoftmaxTile& tile, int64_t row, int64_t widest) {
  float* scores = tile.scores + row * kScoreStride;
  float* sums = tile.sums + row * kSumLanes;
  const int64_t visible = tile.visible[row];
  const Vec max = Set(-tile.max[row]);
  Vec sum = Mul(Load(sums), Set(tile.alpha[row]));
  int64_t key = 0;
  for (; key + 2 * kLanes <= visible; key += 2 * kLanes) {
    const Vec first = Probabilities<Dot, scaled>(tile, scores, key, max, sum);
    const Vec second = Probabilities<Dot, scaled>(tile, scores, key + kLanes, max, sum);
    Dot::StorePair(scores, key, first, second);
  }
  for (; key < visible; key += 2 * kLanes) {
    const Vec first = LastProbabilities<Dot, scaled>(tile, scores, key, visible - key, max, sum);
    const Vec second =
        LastProbabilities<Dot, scaled>(tile, scores, key + kLanes, visible - key - kLanes, max, sum);
    Dot::StorePair(scores, key, first, second);
  }
  // Other rows of the tile see more keys, and the value kernel runs over all of them.
  for (; key < widest; key += 2 * kLanes) Dot::StorePair(scores, key, Zero(), Zero());
  Store(sums, sum);
}

template <class Dot, bool scaled>
void SoftmaxRows(const SoftmaxTile& tile) {
  float largest[kQueryTile];
  int64_t widest = 0;
  for (int64_t row = 0; row < tile.rows; ++row) {
    largest[row] = LargestScore<scaled>(tile, tile.scores + row * kScoreStride, tile.visible[row]);
    if (tile.visible[row] > widest) widest = tile.visible[row];
  }
  UpdateMaxima(tile, largest);
  for (int64_t row = 0; row < tile.rows; ++row) SoftmaxRow<Dot, scaled>(tile, row, widest);
}

template <class Dot>
void Softmax(const SoftmaxTile& tile) {
  tile.key_scales != nullptr ? SoftmaxRows<Dot, true>(tile) : SoftmaxRows<Dot, false>(tile);
}

// ---- Values ----

template <class Dot, int rows, int vectors>
void ValuePanel(const ValueTile& tile, int64_t row, int64_t column, Prefetcher& prefetcher) {
  const uint32_t* p = static_cast<const uint32_t*>(tile.probabilities) + row * kScoreStride;
  const typename Dot::Element* values[vectors];
  float* o = tile.o + row * tile.width + column;
  Vec sums[rows][vectors];
  SACCADE_UNROLL
  for (int h = 0; h < vectors; ++h) {
    values[h] = static_cast<const typename Dot::Element*>(tile.values) + column + h * kLanes;
  }
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const Vec alpha = Set(tile.alpha[row + r]);
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) sums[r][h] = Mul(alpha, Load(o + r * tile.width + h * kLanes));
  }
  for (int64_t step = 0; step < tile.steps; ++step, ++p) {
    prefetcher.Step();
    Step<Dot, rows, vectors>(sums, values, step * tile.width, [p](int r) { return p + r * kScoreStride; });
  }
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < vectors; ++h) Store(o + r * tile.width + h * kLanes, sums[r][h]);
  }
}

template <class Dot, int rows>
void DispatchValues(const ValueTile& tile, int64_t count, int64_t row, Prefetcher& prefetcher) {
  if constexpr (rows > 0) {
    if (count != rows) return DispatchValues<Dot, rows - 1>(tile, count, row, prefetcher);
    int64_t column = 0;
    if constexpr (rows <= kFewRows) {
      for (; column + kFewRowsValueVectors * kLanes <= tile.width; column += kFewRowsValueVectors * kLanes) {
        ValuePanel<Dot, rows, kFewRowsValueVectors>(tile, row, column, prefetcher);
      }
    }
    for (; column + 2 * kLanes <= tile.width; column += 2 * kLanes) {
      ValuePanel<Dot, rows, 2>(tile, row, column, prefetcher);
    }
    for (; column < tile.width; column += kLanes) ValuePanel<Dot, rows, 1>(tile, row, column, prefetcher);
  }
}

template <class Dot>
void Values(const ValueTile& tile) {
  const int64_t panels = (tile.width + kFewRowsValueVectors * kLanes - 1) / (kFewRowsValueVectors * kLanes);
  Prefetcher prefetcher(tile.prefetch, tile.prefetch_next, panels * tile.steps);
  for (int64_t row = 0; row < tile.rows; row += kTileRows) {
    DispatchValues<Dot, kTileRows>(tile, tile.rows - row < kTileRows ? tile.rows - row : kTileRows, row,
                                   prefetcher);
  }
}

// Words are floats.
struct DotF32 {
  using Element = uint32_t;
  using Operand = Vec;
  static constexpr bool kCoarse = false;
  static Vec LoadElements(const uint32_t* p) { return Load(reinterpret_cast<const float*>(p)); }
  static Vec Broadcast(const uint32_t* p) { return Set(*reinterpret_cast<const float*>(p)); }
  static Vec Sum(Vec sum, Vec x, Vec b) { return MulAdd(x, b, sum); }
  static void StorePair(float* row, int64_t key, Vec first, Vec second) {
    Store(row + key, first);
    Store(row + key + kLanes, second);
  }
};

}  // namespace
}  // namespace saccade
