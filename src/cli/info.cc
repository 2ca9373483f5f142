// saccade info MODEL: what a checkpoint is and what it needs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/topology.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/model_options.h"
#include "kernels/kernels.h"
#include "model/model.h"

namespace saccade {
namespace {

struct InfoOptions {
  std::string model;
  bool json = false;
};

nlohmann::ordered_json Describe(const ModelConfig& config, Isa isa) {
  nlohmann::ordered_json json;
  json["model_type"] = config.model_type;
  json["parameters"] = {{"text", config.TextParameters()},
                        {"vision", config.VisionParameters()},
                        {"total", config.TextParameters() + config.VisionParameters()}};
  json["text"] = {{"layers", config.text.layers},
                  {"hidden", config.text.hidden},
                  {"intermediate", config.text.intermediate},
                  {"q_heads", config.text.q_heads},
                  {"kv_heads", config.text.kv_heads},
                  {"head_dim", config.text.head_dim},
                  {"vocab", config.text.vocab},
                  {"tied_head", config.text.tied_head},
                  {"max_positions", config.text.max_positions}};
  json["vision"] = {{"layers", config.vision.depth},
                    {"hidden", config.vision.hidden},
                    {"intermediate", config.vision.intermediate},
                    {"heads", config.vision.heads},
                    {"head_dim", config.vision.head_dim()},
                    {"patch_size", config.vision.patch_size},
                    {"deepstack_layers", config.vision.deepstack_layers}};
  nlohmann::ordered_json weights;
  for (WeightType type : kAllWeightTypes) {
    weights[std::string(WeightTypeName(type))] = EstimateWeightBytes(config, {type, type}).total();
  }
  json["weight_bytes"] = weights;
  nlohmann::ordered_json kv;
  for (KvType type : {KvType::kF32, KvType::kBf16, KvType::kInt8}) {
    const KvLayout layout = {type, config.text.kv_heads, config.text.head_dim, 64};
    kv[std::string(KvTypeName(type))] = static_cast<int64_t>(layout.PageBytes()) * config.text.layers / 64;
  }
  json["kv_bytes_per_token"] = kv;
  const WeightTypes chosen = ChooseWeightTypes(config, DetectTopology().UsableMemoryBytes());
  json["auto_weights"] = {{"text", WeightTypeName(chosen.text)}, {"vision", WeightTypeName(chosen.vision)}};
  json["isa"] = IsaName(isa);
  ThreadPool pool(1);
  json["kernels"] = KernelContext(pool, isa).Describe();
  json["processor"] = CpuModelName();
  return json;
}

void PrintForPeople(const nlohmann::ordered_json& json, const std::string& folder) {
  const auto mib = [](const nlohmann::ordered_json& bytes) {
    return static_cast<double>(bytes.get<int64_t>()) / (1 << 20);
  };
  fmt::print("{}\n  {}: {:.2f} million weights ({:.2f} text, {:.2f} vision)\n", folder,
             json["model_type"].get<std::string>(), json["parameters"]["total"].get<double>() / 1e6,
             json["parameters"]["text"].get<double>() / 1e6,
             json["parameters"]["vision"].get<double>() / 1e6);
  const auto& text = json["text"];
  fmt::print("  text:    {} layers, hidden {}, MLP {}, {} query and {} KV heads of {}, vocabulary {}{}\n",
             text["layers"].get<int>(), text["hidden"].get<int>(), text["intermediate"].get<int>(),
             text["q_heads"].get<int>(), text["kv_heads"].get<int>(), text["head_dim"].get<int>(),
             text["vocab"].get<int>(), text["tied_head"].get<bool>() ? ", tied head" : "");
  const auto& vision = json["vision"];
  fmt::print("  vision:  {} layers, hidden {}, MLP {}, {} heads of {}\n", vision["layers"].get<int>(),
             vision["hidden"].get<int>(), vision["intermediate"].get<int>(), vision["heads"].get<int>(),
             vision["head_dim"].get<int>());
  fmt::print("  weights: ");
  for (const auto& [type, bytes] : json["weight_bytes"].items())
    fmt::print(" {} {:.0f} MiB ", type, mib(bytes));
  fmt::print("\n  KV cache per 1000 tokens: ");
  for (const auto& [type, bytes] : json["kv_bytes_per_token"].items())
    fmt::print(" {} {:.1f} MiB ", type, 1000 * mib(bytes));
  fmt::print("\n  here --weights auto means {} and --vision-weights auto {}",
             json["auto_weights"]["text"].get<std::string>(),
             json["auto_weights"]["vision"].get<std::string>());
  fmt::print("\n  kernels: {} on {}\n", json["isa"].get<std::string>(), json["processor"].get<std::string>());
  for (const auto& line : json["kernels"]) fmt::print("    {}\n", line.get<std::string>());
}

// config.json of a checkpoint folder or of a weight file.
Result<ModelConfig> ConfigOf(const std::filesystem::path& source) {
  std::error_code ignored;
  if (std::filesystem::is_directory(source, ignored)) return LoadModelConfig(FolderFiles(source));
  ThreadPool pool(DetectTopology().ComputeThreads());
  SACCADE_ASSIGN_OR_RETURN(const PackFile file, OpenWeightFile(source, pool));
  return LoadModelConfig(PackedFiles(file));
}

Status RunInfo(const InfoOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const std::filesystem::path source, ResolveModel(options.model));
  SACCADE_ASSIGN_OR_RETURN(const ModelConfig config, ConfigOf(source));
  SACCADE_ASSIGN_OR_RETURN(const Isa isa, SelectIsa());
  const nlohmann::ordered_json json = Describe(config, isa);
  if (options.json) {
    fmt::print("{}\n", json.dump(2));
  } else {
    PrintForPeople(json, source.string());
  }
  return OkStatus();
}

}  // namespace

void AddInfoCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = program.add_subcommand("info", "Show a checkpoint's architecture and memory need");
  command->add_option("model", options->model,
                      "Checkpoint folder or weight file; without it the bundled model");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &chosen] { chosen = [options] { return Report(RunInfo(*options)); }; });
}

}  // namespace saccade
