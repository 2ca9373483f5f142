// saccade trace MODEL --chat chat.json --out FILE: the tensors of every stage of one conversation.
#include "engine/trace.h"

#include <CLI/CLI.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/topology.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/model_options.h"

namespace saccade {
namespace {

struct TraceOptions {
  ModelOptions model;
  std::string chat, out;
  int64_t max_tokens = 48;
};

// chat.json: {"messages": [{"role", "content": [{"type": "image", "image": "path"}, {"type": "text",
// "text"}]}]}. Paths are relative to the working folder.
Result<ChatInput> ReadChat(const std::string& path) {
  SACCADE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, 64 << 20));
  SACCADE_ASSIGN_OR_RETURN(OrderedJson json, ParseOrderedJson(text));
  ChatInput input;
  SACCADE_ASSIGN_OR_RETURN(input.conversation, ParseConversation(std::move(json)));
  for (const ContentPart* image : input.conversation.Images()) {
    SACCADE_ASSIGN_OR_RETURN(const std::string bytes, ReadFile(image->source, int64_t{256} << 20));
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    input.pictures.push_back(
        {std::make_shared<const std::vector<std::byte>>(data, data + bytes.size()), std::nullopt});
  }
  return input;
}

Status RunTrace(const TraceOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(options.model));
  SACCADE_ASSIGN_OR_RETURN(const std::shared_ptr<const Checkpoint> checkpoint,
                           LoadCheckpoint(options.model, choice));
  SACCADE_ASSIGN_OR_RETURN(const ChatInput input, ReadChat(options.chat));
  SACCADE_ASSIGN_OR_RETURN(const Isa isa, SelectIsa());
  ThreadPool pool(options.model.threads > 0 ? options.model.threads : DetectTopology().ComputeThreads());
  KernelContext context(pool, isa);
  SACCADE_ASSIGN_OR_RETURN(const Trace trace,
                           TraceConversation(*checkpoint, input, options.max_tokens, choice.kv, context));
  return WriteTrace(options.out, trace);
}

}  // namespace

void AddTraceCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<TraceOptions>();
  CLI::App* command = program.add_subcommand("trace", "Write the tensors of every stage of one conversation");
  options->model.AddTo(*command);
  command->add_option("checkpoint", options->model.model, "Checkpoint folder; without it the bundled model");
  command->add_option("--chat", options->chat, "JSON file with \"messages\"")->required();
  command->add_option("--out", options->out, "safetensors file to write")->required();
  command->add_option("--max-tokens", options->max_tokens, "Greedy steps")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->callback([options, &chosen] { chosen = [options] { return Report(RunTrace(*options)); }; });
}

}  // namespace saccade
