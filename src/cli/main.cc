// Entry point: parses the command line and runs one verb.
#include <CLI/CLI.hpp>

#include "cli/commands.h"
#include "documents/document.h"

int main(int argc, char** argv) {
  if (const auto code = saccade::RunDocumentChild(argc, argv)) return *code;
  CLI::App program("Saccade answers questions about pictures with Qwen3-VL models on ordinary CPUs.",
                   "saccade");
  program.set_version_flag("--version", SACCADE_VERSION);
  program.require_subcommand(1);
  saccade::Command chosen;
  saccade::AddServeCommand(program, chosen);
  saccade::AddAskCommand(program, chosen);
  saccade::AddBenchCommand(program, chosen);
  saccade::AddInfoCommand(program, chosen);
  saccade::AddKeyCommand(program, chosen);
  saccade::AddQuantizeCommand(program, chosen);
  saccade::AddTraceCommand(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = program.exit(error);
    return code == 0 ? 0 : 2;
  }
  return chosen();
}
