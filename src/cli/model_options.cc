#include "cli/model_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/topology.h"

namespace saccade {

namespace fs = std::filesystem;

void ModelOptions::AddTo(CLI::App& command) {
  command.add_option("-m,--model", model,
                     "Checkpoint folder (Hugging Face layout); without it the bundled model");
  command.add_option("--weights", weights, "Weights of the text decoder: auto, f32, bf16, int8 or int4")
      ->capture_default_str();
  command
      .add_option("--vision-weights", vision_weights,
                  "Weights of the vision tower: auto, f32, bf16, int8 or int4")
      ->capture_default_str();
  command.add_option("--kv", kv, "Keys and values in the cache: f32, bf16 or int8")->capture_default_str();
  command
      .add_option("--threads", threads, "Compute threads; 0 means one per physical core inside the CPU quota")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command
      .add_option("--kv-tokens", kv_tokens,
                  "Tokens that the KV cache holds for all requests; 0 means automatic")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 30))
      ->capture_default_str();
}

namespace {

// The folder that holds the running binary.
fs::path BinaryFolder() {
  std::error_code error;
  const fs::path binary = fs::read_symlink("/proc/self/exe", error);
  return error ? fs::path() : binary.parent_path();
}

}  // namespace

Result<fs::path> ResolveModel(const std::string& model) {
  std::error_code ignored;
  if (!model.empty()) {
    if (fs::is_directory(model, ignored)) return fs::path(model);
    return NotFound("{} is not a folder; --model takes the folder of a Hugging Face checkpoint", model);
  }
  std::vector<fs::path> candidates;
  if (const char* home = std::getenv("SACCADE_HOME")) candidates.push_back(fs::path(home) / "models/demo");
  candidates.push_back(BinaryFolder() / "../share/saccade/models/demo");
  candidates.push_back(BinaryFolder() / "../../models/demo");  // build/<preset>/saccade inside a source tree
  for (const fs::path& candidate : candidates) {
    if (fs::exists(candidate / "config.json", ignored)) return candidate.lexically_normal();
  }
  return NotFound("the bundled model was not found; name a checkpoint folder with --model");
}

Result<WeightChoice> ChooseWeights(const ModelOptions& options) {
  // bf16 is what the checkpoints hold: exact weights at half the size of f32 on every instruction set.
  const auto parse = [](const std::string& name) -> Result<WeightType> {
    if (name == "auto") return WeightType::kBf16;
    return ParseWeightType(name);
  };
  WeightChoice choice;
  SACCADE_ASSIGN_OR_RETURN(choice.text, parse(options.weights));
  SACCADE_ASSIGN_OR_RETURN(choice.vision, parse(options.vision_weights));
  SACCADE_ASSIGN_OR_RETURN(choice.kv, ParseKvType(options.kv));
  return choice;
}

EngineOptions MakeEngineOptions(const ModelOptions& options, const WeightChoice& choice) {
  EngineOptions engine;
  engine.threads = options.threads;
  engine.kv_type = choice.kv;
  engine.kv_cache_tokens = options.kv_tokens;
  return engine;
}

Result<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const ModelOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const fs::path folder, ResolveModel(options.model));
  SACCADE_ASSIGN_OR_RETURN(const WeightChoice choice, ChooseWeights(options));
  const Topology topology = DetectTopology();
  ThreadPool pool(options.threads > 0 ? options.threads : topology.ComputeThreads());
  return Checkpoint::Load(folder, {choice.text, choice.vision}, pool);
}

Result<std::unique_ptr<Engine>> StartEngine(const ModelOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const WeightChoice choice, ChooseWeights(options));
  SACCADE_ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint, LoadCheckpoint(options));
  return Engine::Start(std::move(checkpoint), MakeEngineOptions(options, choice));
}

}  // namespace saccade
