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

// One group of weights: chooses the scale (returned, exactly a bf16 value) that minimises the squared error
// and the codes for it. `w` has kGroupSize values. Int8 codes are weights in [-128, 127]; int4 codes index
// kInt4Levels.
float QuantizeInt8Group(const float* w, int8_t* codes);
float QuantizeInt4Group(const float* w, uint8_t* codes);

}  // namespace saccade
