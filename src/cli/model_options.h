// The options that every command with a model shares, and what they load.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "engine/memory_plan.h"

namespace CLI {
class App;
}

namespace saccade {

struct ModelOptions {
  std::string model;  // a checkpoint folder; empty: the bundled model
  std::string weights = "auto", vision_weights = "auto";
  std::string kv = "bf16";
  std::string weight_cache = "auto";
  int threads = 0;
  int64_t kv_tokens = 0;

  // Adds --model, --weights, --vision-weights, --weight-cache, --kv, --threads and --kv-tokens.
  void AddTo(CLI::App& command);
};

// The checkpoint folder or weight file that `model` names. Empty means the bundled model:
// $SACCADE_HOME/models/demo, or share/saccade/models/demo beside the installed binary.
Result<std::filesystem::path> ResolveModel(const std::string& model);

// The options with every "auto" decided for this machine.
struct ModelChoice {
  std::filesystem::path source;
  WeightOptions weights;
  KvType kv = KvType::kBf16;
};
Result<ModelChoice> ChooseModel(const ModelOptions& options);

// The folder of weight files when nothing else is said: $SACCADE_CACHE_DIR, $XDG_CACHE_HOME/saccade or
// ~/.cache/saccade. Empty when the process has no home.
std::filesystem::path DefaultCacheFolder();

Result<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const ModelOptions& options,
                                                         const ModelChoice& choice);

// What the engine may keep in memory; sets `engine.kv_cache_tokens`. Refused when it cannot fit.
Result<MemoryPlan> PlanEngineMemory(const Checkpoint& checkpoint, EngineOptions& engine);

// Loads the checkpoint and starts an engine on it.
Result<std::unique_ptr<Engine>> StartEngine(const ModelOptions& options);
EngineOptions MakeEngineOptions(const ModelOptions& options, const ModelChoice& choice);

}  // namespace saccade
