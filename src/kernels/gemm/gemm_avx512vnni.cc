// AVX512-VNNI gemm tiles: int8 activations, int8 or int4 weights, int32 sums inside a group, f32 across
// groups.
#include "kernels/kernel_list.h"
#include "kernels/simd_avx512.h"

namespace saccade {
namespace {

// Six rows by two vectors: 12 int32 and 12 f32 accumulators, two vectors of weights, one broadcast.
constexpr int kRows = 6;

template <int rows>
struct Sums {
  __m512 v[rows][2];
};

template <int rows>
inline Sums<rows> LoadSums(const GemmTile& tile) {
  Sums<rows> sums;
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    SACCADE_UNROLL
    for (int h = 0; h < 2; ++h) {
      sums.v[r][h] =
          tile.accumulate ? _mm512_load_ps(tile.c + r * tile.c_stride + 16 * h) : _mm512_setzero_ps();
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

template <int rows>
struct GroupSums {
  __m512i v[rows][2];
};

// Weights are unsigned (value + 128); starting at -128 * sum(x) takes the offset out again.
template <int rows>
inline GroupSums<rows> StartGroup(const int32_t* a) {
  GroupSums<rows> group;
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) group.v[r][0] = group.v[r][1] = _mm512_set1_epi32(a[r]);
  return group;
}

template <int rows>
inline void Step(GroupSums<rows>& group, const int32_t* codes, __m512i b0, __m512i b1) {
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m512i x = _mm512_set1_epi32(codes[r]);
    group.v[r][0] = _mm512_dpbusd_epi32(group.v[r][0], b0, x);
    group.v[r][1] = _mm512_dpbusd_epi32(group.v[r][1], b1, x);
  }
}

template <int rows>
inline void FinishGroup(Sums<rows>& sums, const GroupSums<rows>& group, const int32_t* a,
                        const char* scales) {
  const __m512i pairs = _mm512_load_si512(scales);
  const __m512 s0 = LowBf16(pairs), s1 = HighBf16(pairs);
  SACCADE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const __m512 x_scale = _mm512_castsi512_ps(_mm512_set1_epi32(a[rows + r]));
    sums.v[r][0] =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(group.v[r][0]), _mm512_mul_ps(s0, x_scale), sums.v[r][0]);
    sums.v[r][1] =
        _mm512_fmadd_ps(_mm512_cvtepi32_ps(group.v[r][1]), _mm512_mul_ps(s1, x_scale), sums.v[r][1]);
  }
}

template <int rows>
void TileInt8(const GemmTile& tile) {
  const auto* a = static_cast<const int32_t*>(tile.a);
  const auto* b = static_cast<const char*>(tile.b);
  Sums<rows> sums = LoadSums<rows>(tile);
  for (int64_t g = 0; g < tile.steps; ++g, a += rows * kInt8GroupWords, b += kInt8GroupBytes) {
    GroupSums<rows> group = StartGroup<rows>(a);
    const int32_t* codes = a + 2 * rows;
    const char* weights = b + kScaleBytes;
    for (int step = 0; step < kGroupSteps; ++step, codes += rows, weights += 128) {
      _mm_prefetch(weights + 2048, _MM_HINT_T0);
      _mm_prefetch(weights + 2112, _MM_HINT_T0);
      Step<rows>(group, codes, _mm512_load_si512(weights), _mm512_load_si512(weights + 64));
    }
    FinishGroup<rows>(sums, group, a, b);
  }
  StoreSums<rows>(tile, sums);
}

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

template <int rows>
void TileInt4(const GemmTile& tile) {
  const auto* a = static_cast<const int32_t*>(tile.a);
  const auto* b = static_cast<const char*>(tile.b);
  const __m512i table = LevelTable();
  Sums<rows> sums = LoadSums<rows>(tile);
  for (int64_t g = 0; g < tile.steps; ++g, a += rows * kInt8GroupWords, b += kInt4GroupBytes) {
    GroupSums<rows> group = StartGroup<rows>(a);
    const int32_t* codes = a + 2 * rows;
    const char* weights = b + kScaleBytes;
    for (int step = 0; step < kGroupSteps; ++step, codes += rows, weights += 64) {
      _mm_prefetch(weights + 2048, _MM_HINT_T0);
      const __m512i packed = _mm512_load_si512(weights);
      Step<rows>(group, codes, DecodeLow(packed, table), DecodeHigh(packed, table));
    }
    FinishGroup<rows>(sums, group, a, b);
  }
  StoreSums<rows>(tile, sums);
}

template <int rows>
void Dispatch(const GemmTile& tile, bool int4) {
  if constexpr (rows > 0) {
    if (tile.rows == rows) return int4 ? TileInt4<rows>(tile) : TileInt8<rows>(tile);
    return Dispatch<rows - 1>(tile, int4);
  }
}

}  // namespace

void gemm_int8_int8_6x32_avx512vnni(const GemmTile& tile) { Dispatch<kRows>(tile, false); }
void gemm_int8_int4_6x32_avx512vnni(const GemmTile& tile) { Dispatch<kRows>(tile, true); }

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
