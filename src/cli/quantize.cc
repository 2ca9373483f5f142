// saccade quantize MODEL: packs a checkpoint's weights into one file that later starts map.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>

#include "base/topology.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/model_options.h"

namespace saccade {
namespace {

struct QuantizeOptions {
  ModelOptions model;
  std::string out;
};

Status Quantize(const QuantizeOptions& options) {
  namespace fs = std::filesystem;
  const auto start = std::chrono::steady_clock::now();
  SACCADE_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(options.model));
  std::error_code error;
  if (!fs::is_directory(choice.source, error)) {
    return InvalidArgument("{} is not a checkpoint folder: a weight file cannot be packed again",
                           choice.source.string());
  }
  fs::path path = options.out;
  if (path.empty()) {
    if (choice.weights.cache_folder.empty()) return InvalidArgument("name the file to write with --out");
    fs::create_directories(choice.weights.cache_folder, error);
    SACCADE_ASSIGN_OR_RETURN(path, WeightFilePath(choice.source, choice.weights));
  }
  SACCADE_ASSIGN_OR_RETURN(const Isa isa, SelectIsa());
  ThreadPool pool(options.model.threads > 0 ? options.model.threads : DetectTopology().ComputeThreads());
  KernelContext context(pool, isa);
  SACCADE_RETURN_IF_ERROR(BuildWeightFile(choice.source, choice.weights.types, path, context));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print("{}: text {}, vision {}, {} MiB, written in {:.1f} s\n", path.string(),
             WeightTypeName(choice.weights.types.text), WeightTypeName(choice.weights.types.vision),
             fs::file_size(path, error) >> 20, seconds);
  return OkStatus();
}

}  // namespace

void AddQuantizeCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App* command = program.add_subcommand(
      "quantize", "Pack a checkpoint into one weight file that starts at once and needs no other file");
  options->model.AddTo(*command);
  command->add_option("checkpoint", options->model.model, "Checkpoint folder; without it the bundled model");
  command->add_option("-o,--out", options->out, "File to write; without it the place where `serve` looks");
  command->callback([options, &chosen] { chosen = [options] { return Report(Quantize(*options)); }; });
}

}  // namespace saccade
