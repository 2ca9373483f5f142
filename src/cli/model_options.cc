#include "cli/model_options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "base/topology.h"

namespace saccade {

namespace fs = std::filesystem;

void ModelOptions::AddTo(CLI::App& command) {
  command.add_option(
      "-m,--model", model,
      "Checkpoint folder (Hugging Face layout) or weight file of `saccade quantize`; without it the "
      "bundled model");
  command.add_option("--weights", weights, "Weights of the text decoder: auto, f32, bf16, int8 or int4")
      ->capture_default_str();
  command
      .add_option("--vision-weights", vision_weights,
                  "Weights of the vision tower: auto, f32, bf16, int8 or int4")
      ->capture_default_str();
  command
      .add_option("--weight-cache", weight_cache,
                  "Folder of weight files, which later starts map; auto, or off to pack at every start")
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
    if (fs::is_directory(model, ignored) || fs::is_regular_file(model, ignored)) return fs::path(model);
    return NotFound(
        "{} is not there; --model takes the folder of a Hugging Face checkpoint or a weight file of `saccade "
        "quantize`",
        model);
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

fs::path DefaultCacheFolder() {
  if (const char* folder = std::getenv("SACCADE_CACHE_DIR")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME")) return fs::path(cache) / "saccade";
  if (const char* home = std::getenv("HOME")) return fs::path(home) / ".cache" / "saccade";
  return {};
}

Result<ModelChoice> ChooseModel(const ModelOptions& options) {
  ModelChoice choice;
  SACCADE_ASSIGN_OR_RETURN(choice.source, ResolveModel(options.model));
  SACCADE_ASSIGN_OR_RETURN(choice.kv, ParseKvType(options.kv));
  WeightTypes& types = choice.weights.types;
  const bool decide = options.weights == "auto" || options.vision_weights == "auto";
  std::error_code ignored;
  if (decide && fs::is_directory(choice.source, ignored)) {
    SACCADE_ASSIGN_OR_RETURN(const ModelConfig config, LoadModelConfig(FolderFiles(choice.source)));
    types = ChooseWeightTypes(config, DetectTopology().UsableMemoryBytes());
  }
  if (options.weights != "auto") {
    SACCADE_ASSIGN_OR_RETURN(types.text, ParseWeightType(options.weights));
  }
  if (options.vision_weights != "auto") {
    SACCADE_ASSIGN_OR_RETURN(types.vision, ParseWeightType(options.vision_weights));
  }
  if (options.weight_cache == "auto") {
    choice.weights.cache_folder = DefaultCacheFolder();
  } else if (options.weight_cache != "off") {
    choice.weights.cache_folder = options.weight_cache;
    choice.weights.smallest_cached_bytes = 0;  // whoever names a folder wants a file in it
  }
  return choice;
}

EngineOptions MakeEngineOptions(const ModelOptions& options, const ModelChoice& choice) {
  EngineOptions engine;
  engine.threads = options.threads;
  engine.kv_type = choice.kv;
  engine.kv_cache_tokens = options.kv_tokens;
  return engine;
}

Result<std::shared_ptr<const Checkpoint>> LoadCheckpoint(const ModelOptions& options,
                                                         const ModelChoice& choice) {
  ThreadPool pool(options.threads > 0 ? options.threads : DetectTopology().ComputeThreads());
  return Checkpoint::Load(choice.source, choice.weights, pool);
}

Result<MemoryPlan> PlanEngineMemory(const Checkpoint& checkpoint, EngineOptions& engine) {
  MemoryNeeds needs;
  needs.types = checkpoint.model->types();
  needs.kv = engine.kv_type;
  needs.kv_tokens = engine.kv_cache_tokens;
  needs.context_tokens = checkpoint.context_tokens;
  needs.largest_picture_pixels = checkpoint.preprocessor.limits.max_pixels;
  needs.image_cache_bytes = engine.image_cache_bytes;
  needs.max_running = engine.max_running;
  needs.limit_bytes = DetectTopology().UsableMemoryBytes();
  SACCADE_ASSIGN_OR_RETURN(MemoryPlan plan, PlanMemory(checkpoint.model->config(), needs));
  engine.kv_cache_tokens = plan.kv_tokens;
  return plan;
}

Result<std::unique_ptr<Engine>> StartEngine(const ModelOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(options));
  SACCADE_ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint, LoadCheckpoint(options, choice));
  EngineOptions engine = MakeEngineOptions(options, choice);
  SACCADE_RETURN_IF_ERROR(PlanEngineMemory(*checkpoint, engine).status());
  return Engine::Start(std::move(checkpoint), engine);
}

}  // namespace saccade
