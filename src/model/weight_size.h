// How many bytes the packed weights of an architecture take, known from config.json alone.
#pragma once

#include <cstdint>

#include "model/config.h"
#include "model/weight_cache.h"

namespace saccade {

struct WeightBytes {
  int64_t text = 0, vision = 0;
  int64_t total() const { return text + vision; }
};

// Vectors and the position grid stay f32; the embedding table is not counted: it is read row by row where it
// lies.
WeightBytes EstimateWeightBytes(const ModelConfig& config, WeightTypes types);

}  // namespace saccade
