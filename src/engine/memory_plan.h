// What the engine keeps in memory, known before anything large is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model.h"

namespace saccade {

// What the plan is made for.
struct MemoryNeeds {
  WeightTypes types;
  KvType kv = KvType::kBf16;
  int64_t kv_tokens = 0;               // tokens that the KV cache holds; 0: as many as fit, up to a default
  int64_t context_tokens = 0;          // of the checkpoint
  int64_t largest_picture_pixels = 0;  // after resizing
  int64_t image_cache_bytes = 0;
  int max_running = 1;
  int prefill_rows = 512;   // most rows of one text step
  int64_t limit_bytes = 0;  // the smaller of physical memory and the cgroup's limit
};

struct MemoryPlan {
  struct Part {
    std::string name;
    int64_t bytes = 0;
    std::string flag;  // the option that changes it; empty when none does
  };
  std::vector<Part> parts;
  int64_t limit_bytes = 0;
  int64_t kv_tokens = 0;

  int64_t total_bytes() const;
  // A table for people, one line per part.
  std::string Describe() const;
};

// kResourceExhausted with what is needed, what there is and what the least setting would need when it cannot
// fit.
Result<MemoryPlan> PlanMemory(const ModelConfig& config, const MemoryNeeds& needs);

// The types of --weights auto: bf16 for models that are small anyway, else int8, else int4 where int8 leaves
// too little of `limit_bytes` for everything else.
WeightTypes ChooseWeightTypes(const ModelConfig& config, int64_t limit_bytes);

}  // namespace saccade
