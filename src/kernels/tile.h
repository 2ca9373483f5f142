// Constants and plain argument structs shared with the ISA files. No functions: an inline function here could
// be emitted as a weak symbol with AVX-512 code and be linked into code for older processors.
#pragma once

#include <cstdint>

namespace saccade {

// Columns of the product in one packed block: two 512-bit or four 256-bit vectors of f32.
inline constexpr int kBlockColumns = 32;
// Weights along k that share one scale, and the 4-byte steps they take.
inline constexpr int kGroupSize = 64;
inline constexpr int kGroupSteps = kGroupSize / 4;
inline constexpr int kScaleBytes = kBlockColumns * 2;
inline constexpr int kInt8GroupBytes = kScaleBytes + kGroupSize * kBlockColumns;
inline constexpr int kInt4GroupBytes = kScaleBytes + kGroupSize * kBlockColumns / 2;
// Tokens in one key block of a KV page.
inline constexpr int kKeyBlock = 16;

// Values of the sixteen 4-bit codes before scaling. Denser around zero, as weights are.
inline constexpr int8_t kInt4Levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace saccade
