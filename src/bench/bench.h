// Facade of the bench layer: how fast this machine runs a model, beside what the machine can do at most.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/checkpoint.h"

namespace saccade {

// One line of the report. `percent` is the time that the machine's limits allow for the work over the time it
// took: matrix products against the dot-product peak of their type, attention against the peak of its type,
// decode against the read bandwidth. The limits are measured right before and after the work, because shared
// machines change speed.
struct BenchRow {
  std::string name;                 // "vision 448x448", "decode batch 8"
  double milliseconds = 0;          // median
  double tokens_per_second = 0;     // 0 when it has no meaning
  double gops = 0;                  // achieved, products and attention; 0 for decode
  double gigabytes_per_second = 0;  // achieved; decode only
  double percent = 0;               // of the limit
};

struct BenchLimits {
  double int8_gops = 0, bf16_gops = 0, f32_gops = 0, read_gbps = 0;
};

struct BenchReport {
  std::string model, isa, processor;
  WeightTypes types;
  KvType kv = KvType::kBf16;
  int threads = 0;
  BenchLimits limits;
  std::vector<BenchRow> rows;
  int64_t peak_memory_bytes = 0;  // of this process so far
};

struct BenchOptions {
  int threads = 0;  // 0: what the topology advises
  KvType kv = KvType::kBf16;
  int repeats = 3;
  bool large_picture = true;  // 4032x3024 as well
  std::string only;           // measure only stages whose name starts so
};

// Called before each measurement with its name.
using BenchProgress = std::function<void(const std::string&)>;

Result<BenchReport> RunBench(const Checkpoint& checkpoint, const BenchOptions& options,
                             const BenchProgress& progress);

}  // namespace saccade
