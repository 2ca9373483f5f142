// Quantisation rules of weights and activations, in plain code. Fast paths give the same integers bit for
// bit.
#pragma once

#include <cstdint>

#include "kernels/tile.h"

namespace saccade {

// Nearest even, for |value| < 2^22.
inline float RoundEven(float value) { return (value + 12582912.0F) - 12582912.0F; }

// Symmetric 8-bit quantisation of `count` activations: x[i] ~ scale * q[i], |q[i]| <= 127. Returns the scale:
// 0 for a group of (nearly) zeros, NaN when a value is NaN or infinite, so that broken input cannot go
// unnoticed.
float QuantizeActivations(const float* x, int64_t count, int8_t* q);

// Tries one scale in plain code: the oracle of the try_scale kernels.
void TryScaleInt8(const ScaleTrial& trial);
void TryScaleInt4(const ScaleTrial& trial);

// One group of weights: chooses the scale (returned, exactly a bf16 value) that minimises the squared error
// and the codes for it. `w` has kGroupSize values; `try_scale` is one of the functions above or a kernel that
// equals it. Int8 codes are weights in [-128, 127]; int4 codes index kInt4Levels.
using TryScale = void (*)(const ScaleTrial&);
float QuantizeInt8Group(const float* w, int8_t* codes, TryScale try_scale = TryScaleInt8);
float QuantizeInt4Group(const float* w, uint8_t* codes, TryScale try_scale = TryScaleInt4);

}  // namespace saccade
