// saccade ask FILE... "question": one question about some pictures, answered on the terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"

namespace saccade {
namespace {

constexpr int64_t kMaxPictureBytes = int64_t{256} << 20;

struct AskOptions {
  ModelOptions model;
  GenerationOptions generation;
  std::vector<std::string> arguments;  // FILE... and the question last
  std::string system;
  bool json = false;
  std::optional<int64_t> min_pixels, max_pixels;
};

// Collects the events of the one request. Written by the engine thread, read by main.
class Answer {
 public:
  explicit Answer(bool stream) : stream_(stream), show_progress_(isatty(STDERR_FILENO) != 0) {}

  void OnEvent(Event event) {
    std::lock_guard lock(mutex_);
    if (const auto* progress = std::get_if<ProgressEvent>(&event)) ShowProgress(*progress);
    if (const auto* text = std::get_if<TextEvent>(&event)) AddText(text->text);
    if (auto* finished = std::get_if<FinishedEvent>(&event)) finished_ = *finished;
    if (auto* failed = std::get_if<FailedEvent>(&event)) status_ = failed->status;
    if (std::holds_alternative<FinishedEvent>(event) || std::holds_alternative<FailedEvent>(event)) {
      ClearProgress();
      done_ = true;
      changed_.notify_all();
    }
  }

  // Waits for the end; on Ctrl-C calls `cancel` once and goes on waiting.
  template <class Cancel>
  void Wait(Cancel&& cancel) {
    bool cancelled = false;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_; })) {
      if (InterruptCount() > 0 && !cancelled) {
        cancelled = true;
        cancel();
      }
    }
  }

  const std::string& text() const { return text_; }
  const FinishedEvent& finished() const { return finished_; }
  const Status& status() const { return status_; }

 private:
  void ShowProgress(const ProgressEvent& progress) {
    if (!show_progress_) return;
    switch (progress.stage) {
      case ProgressEvent::Stage::kQueued:
        return;
      case ProgressEvent::Stage::kVision:
        fmt::print(stderr, "\r\033[Kreading the picture {}/{}", progress.done, progress.total);
        break;
      case ProgressEvent::Stage::kPrefill:
        fmt::print(stderr, "\r\033[Kreading the prompt {}/{}", progress.done, progress.total);
        break;
    }
    std::fflush(stderr);
    progress_shown_ = true;
  }

  void ClearProgress() {
    if (progress_shown_) fmt::print(stderr, "\r\033[K");
    progress_shown_ = false;
  }

  void AddText(const std::string& text) {
    ClearProgress();
    text_ += text;
    if (!stream_ || text.empty()) return;
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  }

  const bool stream_, show_progress_;
  bool progress_shown_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string text_;
  FinishedEvent finished_;
  Status status_;
};

Result<std::string> ReadPicture(const std::string& name) {
  if (name != "-") return ReadFile(name, kMaxPictureBytes);
  std::string bytes{std::istreambuf_iterator<char>(std::cin), {}};
  if (bytes.empty()) return InvalidArgument("no picture came on standard input");
  return bytes;
}

Result<ChatInput> MakeInput(const AskOptions& options, const PixelLimits& defaults) {
  ChatInput input;
  OrderedJson content = OrderedJson::array();
  for (size_t i = 0; i + 1 < options.arguments.size(); ++i) {
    SACCADE_ASSIGN_OR_RETURN(const std::string bytes, ReadPicture(options.arguments[i]));
    PictureInput picture;
    const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    picture.bytes = std::make_shared<const std::vector<std::byte>>(data, data + bytes.size());
    if (options.min_pixels || options.max_pixels) {
      picture.limits = PixelLimits{options.min_pixels.value_or(defaults.min_pixels),
                                   options.max_pixels.value_or(defaults.max_pixels)};
    }
    input.pictures.push_back(std::move(picture));
    content.push_back({{"type", "image"}, {"image", options.arguments[i]}});
  }
  content.push_back({{"type", "text"}, {"text", options.arguments.back()}});
  OrderedJson messages = OrderedJson::array();
  if (!options.system.empty()) messages.push_back({{"role", "system"}, {"content", options.system}});
  messages.push_back({{"role", "user"}, {"content", content}});
  SACCADE_ASSIGN_OR_RETURN(input.conversation, ParseConversation({{"messages", std::move(messages)}}));
  input.options = options.generation;
  return input;
}

// Names the file instead of its number in errors of Prepare ("pictures[0]").
Status NameThePicture(Status status, const AskOptions& options) {
  size_t index = 0;
  if (std::sscanf(status.param().c_str(), "pictures[%zu]", &index) != 1 ||
      index + 1 >= options.arguments.size()) {
    return status;
  }
  return Status(status.code(), fmt::format("{}: {}", options.arguments[index], status.message()));
}

void PrintJson(const Answer& answer, double load_ms) {
  const RequestUsage& usage = answer.finished().usage;
  const RequestTimings& timings = answer.finished().timings;
  nlohmann::ordered_json json;
  json["text"] = answer.text();
  json["finish_reason"] = FinishReasonName(answer.finished().reason);
  json["usage"] = {{"prompt_tokens", usage.prompt_tokens},
                   {"image_tokens", usage.image_tokens},
                   {"completion_tokens", usage.completion_tokens}};
  const auto round = [](double ms) { return std::round(ms * 100) / 100; };
  json["timings_ms"] = {{"load", round(load_ms)},
                        {"decode_image", round(timings.decode_image)},
                        {"resize", round(timings.resize)},
                        {"vision", round(timings.vision)},
                        {"prefill", round(timings.prefill)},
                        {"decode", round(timings.decode)}};
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Status Ask(const AskOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(const std::unique_ptr<Engine> engine, StartEngine(options.model));
  const Checkpoint& checkpoint = engine->checkpoint();
  if (!checkpoint.template_note.empty()) fmt::print(stderr, "saccade: {}\n", checkpoint.template_note);
  SACCADE_ASSIGN_OR_RETURN(const ChatInput input, MakeInput(options, checkpoint.preprocessor.limits));
  Result<std::shared_ptr<PreparedRequest>> request = engine->Prepare(input);
  if (!request.ok()) return NameThePicture(std::move(request).status(), options);
  Answer answer(!options.json);
  SACCADE_ASSIGN_OR_RETURN(const Engine::RequestId id, engine->Submit(*request, [&answer](Event event) {
    answer.OnEvent(std::move(event));
  }));
  answer.Wait([&] { engine->Cancel(id); });
  SACCADE_RETURN_IF_ERROR(answer.status());
  if (options.json) {
    PrintJson(answer, checkpoint.load_ms);
  } else {
    fmt::print("\n");
  }
  if (answer.finished().reason == FinishReason::kCancelled) return Cancelled("interrupted");
  return OkStatus();
}

void AddGenerationOptions(CLI::App& command, GenerationOptions& generation) {
  command.add_option("--max-tokens", generation.max_tokens, "Most tokens of the answer")
      ->check(CLI::Range(1, 1 << 20));
  command.add_option("--temperature", generation.temperature, "0 always takes the likeliest token")
      ->check(CLI::Range(0.0, 100.0));
  command
      .add_option("--top-p", generation.top_p, "Sample from the likeliest tokens that together reach this")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--top-k", generation.top_k, "Sample from so many likeliest tokens; 0 means all")
      ->check(CLI::Range(0, 1 << 24));
  command.add_option("--min-p", generation.min_p, "Drop tokens less likely than this part of the likeliest")
      ->check(CLI::Range(0.0, 1.0));
  command.add_option("--repetition-penalty", generation.repetition_penalty, "Above 1 discourages repetition")
      ->check(CLI::Range(0.01, 100.0));
  command.add_option("--presence-penalty", generation.presence_penalty,
                     "Above 0 discourages tokens already used");
  command.add_option("--frequency-penalty", generation.frequency_penalty,
                     "Above 0 discourages tokens by how often they were used");
  command.add_option("--seed", generation.seed, "The same seed gives the same text");
  command.add_option("--stop", generation.stop, "Text that ends the answer (repeatable)");
  command.add_flag("--ignore-eos", generation.ignore_eos, "Go on to --max-tokens whatever the model says");
}

}  // namespace

void AddAskCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<AskOptions>();
  CLI::App* command = program.add_subcommand("ask", "Ask a question about pictures");
  command
      ->add_option("arguments", options->arguments, "Picture files (- for standard input), then the question")
      ->required();
  options->model.AddTo(*command);
  AddGenerationOptions(*command, options->generation);
  command->add_option("--system", options->system, "System prompt");
  command->add_option("--min-pixels", options->min_pixels, "Enlarge pictures to at least so many pixels")
      ->check(CLI::Range(int64_t{1}, kMaxResizedPixels));
  command->add_option("--max-pixels", options->max_pixels, "Shrink pictures to at most so many pixels")
      ->check(CLI::Range(int64_t{1}, kMaxResizedPixels));
  command->add_flag("--json", options->json,
                    "Print one JSON object with text, usage and timings instead of streaming");
  command->callback([options, &chosen] {
    chosen = [options] {
      CatchInterrupts();
      return Report(Ask(*options));
    };
  });
}

}  // namespace saccade
