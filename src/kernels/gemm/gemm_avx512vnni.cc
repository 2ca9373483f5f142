// AVX512-VNNI gemm tiles: int8 activations, int8 or int4 weights, int32 sums inside a group, f32 across
// groups.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

// Twelve rows by two vectors: 24 int32 accumulators, two vectors of weights, one broadcast. Up to six rows
// the f32 sums of the tile stay in registers as well; with more they stay in the strip, which is in L1.
constexpr int kRows = 12;
constexpr int kRegisterRows = 6;
// Bytes that weights are asked for ahead of their use. With one or two rows the hardware prefetcher alone
// reached 82-90 % of the read bandwidth on Zen 4 and prefetching cost 10 %; with more rows it gains 10-25 %.
constexpr int kPrefetchDistance = 4096;

template <int rows>
struct Sums {
  __m512 v[rows][2];
};

template <int rows>
inline Sums<rows> LoadSums(const GemmTile& tile, bool accumulate) {
  Sums<rows> sums;
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      sums.v[r][h] = accumulate ? _mm512_load_ps(tile.c + r * tile.c_stride + 16 * h) : _mm512_setzero_ps();
    }
  }
  return sums;
}

template <int rows>
inline void StoreSums(const GemmTile& tile, const Sums<rows>& sums) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) _mm512_store_ps(tile.c + r * tile.c_stride + 16 * h, sums.v[r][h]);
  }
}

// Not __m512i, which GCC holds as eight 64-bit lanes: the conversions around every VPDPBUSD would cost it
// twelve register copies and as many spills per step.
using Int32x16 = int __attribute__((vector_size(64)));
inline __m512i Bits(Int32x16 v) { return reinterpret_cast<__m512i>(v); }
inline Int32x16 Lanes(__m512i v) { return reinterpret_cast<Int32x16>(v); }
inline Int32x16 Dot(Int32x16 sum, __m512i b, __m512i x) {
  return Lanes(_mm512_dpbusd_epi32(Bits(sum), b, x));
}

template <int rows>
using GroupSums = Int32x16[rows][2];

// Weights are unsigned (value + 128); starting at -128 * sum(x) takes the offset out again.
template <int rows>
SACCADE_INLINE void StartGroup(GroupSums<rows>& group, const int32_t* a) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) group[r][0] = group[r][1] = Lanes(_mm512_set1_epi32(a[r]));
}

template <int rows>
SACCADE_INLINE void Step(GroupSums<rows>& group, const int32_t* codes, __m512i b0, __m512i b1) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m512i x = _mm512_set1_epi32(codes[r]);
    group[r][0] = Dot(group[r][0], b0, x);
    group[r][1] = Dot(group[r][1], b1, x);
  }
}

inline __m512 Scaled(Int32x16 group, __m512 scale, __m512 x_scale, __m512 sum) {
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(Bits(group)), _mm512_mul_ps(scale, x_scale), sum);
}

template <int rows>
SACCADE_INLINE void FinishGroup(Sums<rows>& sums, const GroupSums<rows>& group, const int32_t* a,
                                const char* scales) {
  const __m512i pairs = _mm512_load_si512(scales);
  const __m512 s0 = LowBf16(pairs), s1 = HighBf16(pairs);
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m512 x_scale = _mm512_castsi512_ps(_mm512_set1_epi32(a[rows + r]));
    sums.v[r][0] = Scaled(group[r][0], s0, x_scale, sums.v[r][0]);
    sums.v[r][1] = Scaled(group[r][1], s1, x_scale, sums.v[r][1]);
  }
}

// The same with the sums in the strip.
template <int rows>
SACCADE_INLINE void FinishGroup(const GemmTile& tile, bool accumulate, const GroupSums<rows>& group,
                                const int32_t* a, const char* scales) {
  const __m512i pairs = _mm512_load_si512(scales);
  const __m512 s0 = LowBf16(pairs), s1 = HighBf16(pairs);
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m512 x_scale = _mm512_castsi512_ps(_mm512_set1_epi32(a[rows + r]));
    float* c = tile.c + r * tile.c_stride;
    const __m512 c0 = accumulate ? _mm512_load_ps(c) : _mm512_setzero_ps();
    const __m512 c1 = accumulate ? _mm512_load_ps(c + 16) : _mm512_setzero_ps();
    _mm512_store_ps(c, Scaled(group[r][0], s0, x_scale, c0));
    _mm512_store_ps(c + 16, Scaled(group[r][1], s1, x_scale, c1));
  }
}

// Two sets of accumulators for even and odd steps: with few rows one set would wait for the latency of
// VPDPBUSD. Integer sums, so the result is the same.
template <int rows>
SACCADE_INLINE void AddGroup(GroupSums<rows>& group, const GroupSums<rows>& other) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) group[r][h] += other[r][h];
  }
}

// Weights of one step: 32 columns of four unsigned bytes.
struct Int8Weights {
  static constexpr int kGroupBytes = kInt8GroupBytes;
  static constexpr int kStepBytes = 128;
  static __m512i First(const char* p) { return _mm512_load_si512(p); }
  static __m512i Second(const char* p) { return _mm512_load_si512(p + 64); }
};

// The sixteen levels as unsigned bytes, in every 128-bit lane.
inline __m512i LevelTable() {
  const __m128i levels = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kInt4Levels));
  return _mm512_xor_si512(_mm512_broadcast_i32x4(levels), _mm512_set1_epi8(-128));
}

inline __m512i DecodeLow(__m512i codes, __m512i table) {
  return _mm512_shuffle_epi8(table, _mm512_and_si512(codes, _mm512_set1_epi8(15)));
}
inline __m512i DecodeHigh(__m512i codes, __m512i table) {
  return _mm512_shuffle_epi8(table, _mm512_and_si512(_mm512_srli_epi16(codes, 4), _mm512_set1_epi8(15)));
}

struct Int4Weights {
  static constexpr int kGroupBytes = kInt4GroupBytes;
  static constexpr int kStepBytes = 64;
  static __m512i First(const char* p) { return DecodeLow(_mm512_load_si512(p), LevelTable()); }
  static __m512i Second(const char* p) { return DecodeHigh(_mm512_load_si512(p), LevelTable()); }
};

template <class Weights>
SACCADE_INLINE void Prefetch(const char* p) {  // GCC drops calls that only prefetch
  SACCADE_UNROLL
  for (int i = 0; i < Weights::kStepBytes; i += 64) _mm_prefetch(p + kPrefetchDistance + i, _MM_HINT_T0);
}

template <class Weights, int rows>
SACCADE_INLINE void MultiplyGroup(GroupSums<rows>& group, const int32_t* a, const char* b) {
  StartGroup<rows>(group, a);
  const int32_t* codes = a + 2 * rows;
  const char* weights = b + kScaleBytes;
  if constexpr (rows <= 2) {
    GroupSums<rows> odd;
    SACCADE_UNROLL
    for (int r = 0; r < rows; ++r) odd[r][0] = odd[r][1] = Lanes(_mm512_setzero_si512());
    for (int step = 0; step < kGroupSteps; step += 2, codes += 2 * rows, weights += 2 * Weights::kStepBytes) {
      const char* next = weights + Weights::kStepBytes;
      Step<rows>(group, codes, Weights::First(weights), Weights::Second(weights));
      Step<rows>(odd, codes + rows, Weights::First(next), Weights::Second(next));
    }
    AddGroup<rows>(group, odd);
  } else {
    for (int step = 0; step < kGroupSteps; ++step, codes += rows, weights += Weights::kStepBytes) {
      Prefetch<Weights>(weights);
      Step<rows>(group, codes, Weights::First(weights), Weights::Second(weights));
    }
  }
}

template <class Weights, int rows>
void Tile(const GemmTile& tile) {
  const auto* a = static_cast<const int32_t*>(tile.a);
  const auto* b = static_cast<const char*>(tile.b);
  if constexpr (rows <= kRegisterRows) {
    Sums<rows> sums = LoadSums<rows>(tile, tile.accumulate);
    for (int64_t g = 0; g < tile.steps; ++g, a += rows * kInt8GroupWords, b += Weights::kGroupBytes) {
      GroupSums<rows> group;
      MultiplyGroup<Weights, rows>(group, a, b);
      FinishGroup<rows>(sums, group, a, b);
    }
    StoreSums<rows>(tile, sums);
  } else {
    for (int64_t g = 0; g < tile.steps; ++g, a += rows * kInt8GroupWords, b += Weights::kGroupBytes) {
      GroupSums<rows> group;
      MultiplyGroup<Weights, rows>(group, a, b);
      FinishGroup<rows>(tile, tile.accumulate || g > 0, group, a, b);
    }
  }
}

template <class Weights, int rows>
void Dispatch(const GemmTile& tile) {
  if constexpr (rows > 0) {
    return tile.rows == rows ? Tile<Weights, rows>(tile) : Dispatch<Weights, rows - 1>(tile);
  }
}

}  // namespace

void gemm_int8_int8_12x32_avx512vnni(const GemmTile& tile) { Dispatch<Int8Weights, kRows>(tile); }
void gemm_int8_int4_12x32_avx512vnni(const GemmTile& tile) { Dispatch<Int4Weights, kRows>(tile); }

void decode_int4_avx512vnni(const BlockDecoding& block) {
  const auto* source = static_cast<const char*>(block.int4);
  auto* target = static_cast<char*>(block.int8);
  const __m512i table = LevelTable();
  for (int64_t g = 0; g < block.groups; ++g, source += kInt4GroupBytes, target += kInt8GroupBytes) {
    _mm512_store_si512(target, _mm512_load_si512(source));
    for (int step = 0; step < kGroupSteps; ++step) {
      const __m512i packed = _mm512_load_si512(source + kScaleBytes + 64 * step);
      _mm512_store_si512(target + kScaleBytes + 128 * step, DecodeLow(packed, table));
      _mm512_store_si512(target + kScaleBytes + 128 * step + 64, DecodeHigh(packed, table));
    }
  }
}

}  // namespace saccade
