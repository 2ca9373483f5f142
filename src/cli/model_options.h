// The options that every command with a model shares, and what they load.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"

namespace CLI {
class App;
}

namespace saccade {

struct ModelOptions {
  std::string model;  // a checkpoint folder; empty: the bundled model
  std::string weights = "auto", vision_weights = "auto";
  std::string kv = "bf16";
  int threads = 0;
  int64_t kv_tokens = 0;

  // Adds --model, --weights, --vision-weights, --kv, --threads and --kv-tokens.
  void AddTo(CLI::App& command);
};

// The checkpoint folder that `model` names. Empty means the bundled model: $SACCADE_HOME/models/demo, or
// share/saccade/models/demo beside the installed binary.
Result<std::filesystem::path> ResolveModel(const std::string& model);

// Parsed weight and cache types. "auto" is bf16 where the processor multiplies bf16, else f32 for small
// models.
struct WeightChoice {
  WeightType text = WeightType::kBf16, vision = WeightType::kBf16;
  KvType kv = KvType::kBf16;
};
Result<WeightChoice> ChooseWeights(const ModelOptions& options);

// Loads the checkpoint and starts an engine on it.
Result<std::unique_ptr<Engine>> StartEngine(const ModelOptions& options);
Result<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const ModelOptions& options);
EngineOptions MakeEngineOptions(const ModelOptions& options, const WeightChoice& choice);

}  // namespace saccade
