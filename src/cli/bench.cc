// saccade bench: the machine's limits and what the engine reaches of them.
#include "bench/bench.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/model_options.h"

namespace saccade {
namespace {

struct BenchCommandOptions {
  ModelOptions model;
  int repeats = 3;
  std::string only;
  bool json = false, quick = false;
};

nlohmann::ordered_json ToJson(const BenchReport& report) {
  nlohmann::ordered_json json;
  json["model"] = report.model;
  json["processor"] = report.processor;
  json["isa"] = report.isa;
  json["threads"] = report.threads;
  json["weights"] = {{"text", WeightTypeName(report.types.text)},
                     {"vision", WeightTypeName(report.types.vision)},
                     {"kv", KvTypeName(report.kv)}};
  json["limits"] = {{"int8_gops", report.limits.int8_gops},
                    {"bf16_gops", report.limits.bf16_gops},
                    {"f32_gops", report.limits.f32_gops},
                    {"read_gbps", report.limits.read_gbps}};
  json["stages"] = nlohmann::ordered_json::array();
  for (const BenchRow& row : report.rows) {
    nlohmann::ordered_json stage = {{"name", row.name}, {"ms", row.milliseconds}};
    stage["tokens_per_second"] = row.tokens_per_second;
    if (row.gops > 0) stage["gops"] = row.gops;
    if (row.gigabytes_per_second > 0) stage["gbps"] = row.gigabytes_per_second;
    stage["percent_of_limit"] = row.percent;
    json["stages"].push_back(std::move(stage));
  }
  json["peak_memory_bytes"] = report.peak_memory_bytes;
  return json;
}

void PrintTable(const BenchReport& report) {
  fmt::print("{}: text {}, vision {}, KV {}; {} threads, {} kernels on {}\n", report.model,
             WeightTypeName(report.types.text), WeightTypeName(report.types.vision), KvTypeName(report.kv),
             report.threads, report.isa, report.processor);
  fmt::print("limits measured: int8 {:.0f} GOPS, bf16 {:.0f} GFLOPS, f32 {:.0f} GFLOPS, read {:.1f} GB/s\n",
             report.limits.int8_gops, report.limits.bf16_gops, report.limits.f32_gops,
             report.limits.read_gbps);
  fmt::print("{:<22}{:>10}{:>12}{:>10}{:>8}{:>12}\n", "stage", "ms", "tokens/s", "GOPS", "GB/s",
             "% of limit");
  for (const BenchRow& row : report.rows) {
    fmt::print("{:<22}{:>10.1f}{:>12.1f}{:>10.0f}{:>8.1f}{:>12.1f}\n", row.name, row.milliseconds,
               row.tokens_per_second, row.gops, row.gigabytes_per_second, row.percent);
  }
  fmt::print("peak memory: {} MiB\n", report.peak_memory_bytes >> 20);
}

Status Bench(const BenchCommandOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(options.model));
  SACCADE_ASSIGN_OR_RETURN(const auto checkpoint, LoadCheckpoint(options.model, choice));
  BenchOptions bench;
  bench.threads = options.model.threads;
  bench.kv = choice.kv;
  bench.repeats = options.repeats;
  bench.large_picture = !options.quick;
  bench.only = options.only;
  SACCADE_ASSIGN_OR_RETURN(const BenchReport report,
                           RunBench(*checkpoint, bench, [](const std::string& name) {
                             fmt::print(stderr, "measuring {} ...\n", name);
                           }));
  if (options.json) {
    fmt::print("{}\n", ToJson(report).dump(2));
  } else {
    PrintTable(report);
  }
  return OkStatus();
}

}  // namespace

void AddBenchCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<BenchCommandOptions>();
  CLI::App* command = program.add_subcommand(
      "bench", "Measure the limits of this machine and how close the engine comes to them");
  options->model.AddTo(*command);
  command->add_option("--repeats", options->repeats, "Runs of each stage; the median counts")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  command->add_option("--only", options->only, "Measure only stages whose name starts so, e.g. decode");
  command->add_flag("--quick", options->quick, "Leave out the 12-megapixel picture");
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([options, &chosen] { chosen = [options] { return Report(Bench(*options)); }; });
}

}  // namespace saccade
