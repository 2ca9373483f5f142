// The two inner loops of the resize, and their implementations. Plain data only: ISA files include this
// header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace saccade {

// The filter of one axis. Output i is the sum over k < count[i] of weight k times input first[i] + k,
// rounded, shifted right by `precision` and clamped to 8 bits. weights: [outputs, stride], stride a multiple
// of 4, padded with zeros.
struct FilterView {
  const int32_t* first;
  const int32_t* count;
  const int16_t* weights;
  int stride;
  int outputs;
  int precision;
};

// Bytes behind a source row that FilterRow may read (and ignores).
inline constexpr size_t kResizeRowPadding = 16;

struct ResizeKernels {
  // One RGB row along x: out[outputs * 3].
  void (*filter_row)(const uint8_t* source, const FilterView& filter, uint8_t* out);
  // One output row along y: byte i is the weighted sum of byte i of `count` rows.
  void (*blend_rows)(const uint8_t* const* rows, const int16_t* weights, int count, int precision,
                     size_t bytes, uint8_t* out);
};

// The oracle and the fallback of every machine.
const ResizeKernels& PlainResizeKernels();

// resize_avx2.cc; null where the build has no x86 code.
const ResizeKernels* Avx2ResizeKernels();

}  // namespace saccade
