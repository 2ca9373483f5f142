// The loops with AVX2: 16-bit multiply-adds over pairs of taps, byte shuffles. Bit-equal with the plain ones.
// The functions carry their instruction set themselves, so that nothing else in this file can be compiled for
// it.
#include "image/pixel_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#define SACCADE_AVX2 __attribute__((target("avx2")))

namespace saccade {
namespace {

uint8_t RoundAndClamp(int32_t sum, int precision) {
  const int32_t value = sum >> precision;
  return static_cast<uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

// Four taps of one pixel at a time: lane 0 holds taps 0 and 1, lane 1 taps 2 and 3, as 16-bit pairs per
// channel, so that one multiply-add sums a pair. Reads 16 bytes for the 12 it uses.
SACCADE_AVX2 __m256i FourTaps(const uint8_t* pixel, const int16_t* weights) {
  const __m256i pick = _mm256_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1,  //
                                        6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
  const __m256i spread = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(pixel));
  const __m128i four = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(weights));
  return _mm256_madd_epi16(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(bytes), pick),
                           _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), spread));
}

SACCADE_AVX2 void FilterRow(const uint8_t* source, const FilterView& filter, uint8_t* out) {
  const __m128i half = _mm_set1_epi32(1 << (filter.precision - 1));
  const __m128i shift = _mm_cvtsi32_si128(filter.precision);
  for (int i = 0; i < filter.outputs; ++i, out += 3) {
    const uint8_t* pixel = source + static_cast<ptrdiff_t>(3) * filter.first[i];
    const int16_t* weights = filter.weights + static_cast<ptrdiff_t>(filter.stride) * i;
    __m256i sum = _mm256_setzero_si256();
    for (int k = 0; k < filter.count[i]; k += 4) {
      sum = _mm256_add_epi32(sum, FourTaps(pixel + 3 * k, weights + k));
    }
    __m128i rgb = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
    rgb = _mm_sra_epi32(_mm_add_epi32(rgb, half), shift);
    rgb = _mm_packus_epi16(_mm_packs_epi32(rgb, rgb), rgb);
    const int packed = _mm_cvtsi128_si32(rgb);
    memcpy(out, &packed, 3);
  }
}

// 32 bytes of two rows, as four vectors of interleaved 16-bit pairs times the pair of weights.
struct Sums {
  __m256i part[4];
};

SACCADE_AVX2 void AddRowPair(__m256i a, __m256i b, __m256i weights, Sums& sums) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
  const __m256i pairs[4] = {_mm256_unpacklo_epi8(low, zero), _mm256_unpackhi_epi8(low, zero),
                            _mm256_unpacklo_epi8(high, zero), _mm256_unpackhi_epi8(high, zero)};
  for (int p = 0; p < 4; ++p) {
    sums.part[p] = _mm256_add_epi32(sums.part[p], _mm256_madd_epi16(pairs[p], weights));
  }
}

SACCADE_AVX2 __m256i Load(const uint8_t* bytes) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes));
}

SACCADE_AVX2 void BlendBlock(const uint8_t* const* rows, const int16_t* weights, int count, int precision,
                             size_t at, uint8_t* out) {
  const __m256i half = _mm256_set1_epi32(1 << (precision - 1));
  Sums sums = {{half, half, half, half}};
  int k = 0;
  for (; k + 2 <= count; k += 2) {
    const uint32_t pair = static_cast<uint16_t>(weights[k]) |
                          static_cast<uint32_t>(static_cast<uint16_t>(weights[k + 1])) << 16;
    AddRowPair(Load(rows[k] + at), Load(rows[k + 1] + at), _mm256_set1_epi32(static_cast<int>(pair)), sums);
  }
  if (k < count) {
    AddRowPair(Load(rows[k] + at), _mm256_setzero_si256(),
               _mm256_set1_epi32(static_cast<uint16_t>(weights[k])), sums);
  }
  const __m128i shift = _mm_cvtsi32_si128(precision);
  for (__m256i& part : sums.part) part = _mm256_sra_epi32(part, shift);
  const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(sums.part[0], sums.part[1]),
                                            _mm256_packs_epi32(sums.part[2], sums.part[3]));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + at), bytes);
}

void BlendBytes(const uint8_t* const* rows, const int16_t* weights, int count, int precision, size_t bytes,
                uint8_t* out) {
  for (size_t i = 0; i < bytes; ++i) {
    int32_t sum = 1 << (precision - 1);
    for (int k = 0; k < count; ++k) sum += weights[k] * rows[k][i];
    out[i] = RoundAndClamp(sum, precision);
  }
}

SACCADE_AVX2 void BlendRows(const uint8_t* const* rows, const int16_t* weights, int count, int precision,
                            size_t bytes, uint8_t* out) {
  constexpr size_t kBlock = 32;
  if (bytes < kBlock) return BlendBytes(rows, weights, count, precision, bytes, out);
  for (size_t at = 0; at + kBlock <= bytes; at += kBlock) {
    BlendBlock(rows, weights, count, precision, at, out);
  }
  // The rest is computed again together with the bytes before it.
  if (bytes % kBlock != 0) BlendBlock(rows, weights, count, precision, bytes - kBlock, out);
}

// Sixteen interleaved pixels: each channel gathers its bytes from all three vectors.
struct SplitMasks {
  __m128i part[3];
};

SACCADE_AVX2 __m128i Gather(const __m128i (&bytes)[3], const SplitMasks& masks) {
  return _mm_or_si128(
      _mm_or_si128(_mm_shuffle_epi8(bytes[0], masks.part[0]), _mm_shuffle_epi8(bytes[1], masks.part[1])),
      _mm_shuffle_epi8(bytes[2], masks.part[2]));
}

SACCADE_AVX2 void SplitSixteen(const uint8_t* source, uint8_t* red, size_t plane) {
  const SplitMasks masks[3] = {{{_mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
                                 _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14, -1, -1, -1, -1, -1),
                                 _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 1, 4, 7, 10, 13)}},
                               {{_mm_setr_epi8(1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
                                 _mm_setr_epi8(-1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1),
                                 _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 2, 5, 8, 11, 14)}},
                               {{_mm_setr_epi8(2, 5, 8, 11, 14, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1),
                                 _mm_setr_epi8(-1, -1, -1, -1, -1, 1, 4, 7, 10, 13, -1, -1, -1, -1, -1, -1),
                                 _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 3, 6, 9, 12, 15)}}};
  const __m128i* vectors = reinterpret_cast<const __m128i*>(source);
  const __m128i bytes[3] = {_mm_loadu_si128(vectors), _mm_loadu_si128(vectors + 1),
                            _mm_loadu_si128(vectors + 2)};
  for (size_t c = 0; c < 3; ++c) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(red + c * plane), Gather(bytes, masks[c]));
  }
}

SACCADE_AVX2 void CutPatch(const uint8_t* source, size_t row_bytes, size_t patch_size, uint8_t* patch) {
  const size_t plane = patch_size * patch_size;
  for (size_t y = 0; y < patch_size; ++y, source += row_bytes, patch += patch_size) {
    size_t x = 0;
    for (; x + 16 <= patch_size; x += 16) SplitSixteen(source + 3 * x, patch + x, plane);
    for (; x < patch_size; ++x) {
      for (size_t c = 0; c < 3; ++c) patch[c * plane + x] = source[3 * x + c];
    }
  }
}

}  // namespace

const PixelKernels* Avx2PixelKernels() {
  static constexpr PixelKernels kernels = {"avx2", FilterRow, BlendRows, CutPatch};
  return &kernels;
}

}  // namespace saccade

#else

namespace saccade {
const PixelKernels* Avx2PixelKernels() { return nullptr; }
}  // namespace saccade

#endif
