// The inner loops of this layer, and their implementations.
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

// Bytes behind a source row that filter_row may read (and ignores).
inline constexpr size_t kFilterRowPadding = 16;

struct PixelKernels {
  const char* name;
  // One RGB row along x: out[outputs * 3].
  void (*filter_row)(const uint8_t* source, const FilterView& filter, uint8_t* out);
  // One output row along y: byte i is the weighted sum of byte i of `count` rows.
  void (*blend_rows)(const uint8_t* const* rows, const int16_t* weights, int count, int precision,
                     size_t bytes, uint8_t* out);
  // A square of interleaved RGB at `source` to planes: patch[3, patch_size, patch_size].
  void (*cut_patch)(const uint8_t* source, size_t row_bytes, size_t patch_size, uint8_t* patch);
};

// The oracle and the fallback of every machine.
const PixelKernels& PlainPixelKernels();

// Null where the build has no x86 code. Callers check the processor.
const PixelKernels* Avx2PixelKernels();

// What SelectIsa (SACCADE_FORCE_ISA) allows; the plain ones when that is an error, which others report.
const PixelKernels& BestPixelKernels();

}  // namespace saccade
