// saccade ask FILE... "question": questions about pictures and documents, answered on the terminal.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>

#include "base/file.h"
#include "cli/ask_answer.h"
#include "cli/ask_files.h"
#include "cli/ask_many.h"
#include "cli/commands.h"
#include "cli/draw_boxes.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "cli/terminal_picture.h"
#include "server/server.h"

namespace saccade {
namespace {

struct AskOptions {
  ModelOptions model;
  GenerationOptions generation;
  std::vector<std::string> arguments;  // FILE... and, unless interactive, the question last
  std::string system, boxes, out, show = "auto";
  bool json = false, each = false, interactive = false, together = false;
  DocumentRequest documents;
  std::optional<std::string> page_prompt;
  double min_confidence = 0;
  std::optional<int64_t> min_pixels, max_pixels;
};

// The model and what is the same for all questions.
struct Session {
  std::shared_ptr<Engine> engine;
  std::shared_ptr<ChatBackend> backend;
  AskFileOptions files;
};

Result<Session> Open(const AskOptions& options) {
  Session session;
  SACCADE_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, StartEngine(options.model));
  session.engine = std::move(engine);
  session.backend = MakeEngineBackend(session.engine);
  const Checkpoint& checkpoint = session.engine->checkpoint();
  if (!checkpoint.template_note.empty()) fmt::print(stderr, "saccade: {}\n", checkpoint.template_note);
  const PixelLimits& defaults = checkpoint.preprocessor.limits;
  if (options.min_pixels || options.max_pixels) {
    session.files.limits = PixelLimits{options.min_pixels.value_or(defaults.min_pixels),
                                       options.max_pixels.value_or(defaults.max_pixels)};
  }
  session.files.max_pixels = defaults.max_pixels;
  session.files.documents = options.documents;
  session.files.settings.max_pages = 100'000;  // the user's own machine and file
  if (!options.together) {
    PageByPage by_page;
    by_page.page_prompt = options.page_prompt;
    by_page.min_confidence = options.min_confidence;
    session.files.documents.page_by_page = std::move(by_page);
  }
  return session;
}

// A conversation whose first user message shows `names`; the question is added by the caller.
Result<ChatInput> Begin(const AskOptions& options, const Session& session,
                        const std::vector<std::string>& names) {
  ChatInput input;
  input.options = options.generation;
  if (!options.system.empty()) {
    input.conversation.messages.push_back(Message::Text(Role::kSystem, options.system));
  }
  Message message;
  message.content_is_string = false;
  for (const std::string& name : names) {
    SACCADE_RETURN_IF_ERROR(AddFile(name, session.files, input, message));
  }
  input.conversation.messages.push_back(std::move(message));
  return input;
}

// Names the file instead of its number in errors of Prepare ("pictures[0]").
Status NameThePicture(Status status, const std::vector<std::string>& names) {
  size_t index = 0;
  if (std::sscanf(status.param().c_str(), "pictures[%zu]", &index) != 1 || index >= names.size())
    return status;
  return Status(status.code(), fmt::format("{}: {}", names[index], status.message()));
}

Status Run(const Session& session, const ChatInput& input, AskAnswer& answer) {
  SACCADE_ASSIGN_OR_RETURN(const std::shared_ptr<PreparedChat> prepared, PrepareChat(session.backend, input));
  SACCADE_RETURN_IF_ERROR(prepared->Submit([&answer](Event event) { answer.OnEvent(std::move(event)); }));
  answer.Wait([&] { prepared->Cancel(); });
  SACCADE_RETURN_IF_ERROR(answer.status());
  if (answer.finished().reason == FinishReason::kCancelled) return Cancelled("interrupted");
  return OkStatus();
}

bool OnTerminal() { return isatty(STDERR_FILENO) != 0; }

// What can be shown is shown; a picture that cannot be decoded is refused later with a reason.
void ShowPictures(const AskOptions& options, const ChatInput& input) {
  const TerminalKind kind = DetectTerminal();
  const bool wanted = options.show == "always" ||
                      (options.show == "auto" && isatty(STDOUT_FILENO) != 0 && kind != TerminalKind::kPlain);
  if (!wanted || options.json) return;
  for (const PictureInput& file : input.pictures) {
    constexpr int kShownWidth = 800;
    const Result<RgbImage> picture = DecodeImage(*file.bytes);
    if (!picture.ok()) continue;
    const RgbImage small = ShrinkTo(*picture, kShownWidth);
    const Result<std::vector<std::byte>> png = ToPng(small);
    if (png.ok()) std::fputs(PictureForTerminal(kind, small, *png).c_str(), stdout);
  }
  std::fflush(stdout);
}

Status DrawAnswer(const AskOptions& options, const ChatInput& input, const std::string& text) {
  if (options.boxes.empty()) return OkStatus();
  if (input.pictures.empty()) return InvalidArgument("--boxes needs a picture to draw on");
  SACCADE_ASSIGN_OR_RETURN(RgbImage picture, DecodeImage(*input.pictures.front().bytes));
  SACCADE_ASSIGN_OR_RETURN(const int drawn, WriteBoxes(text, std::move(picture), 0, options.boxes));
  fmt::print(stderr, "saccade: {} {} drawn in {}\n", drawn, drawn == 1 ? "box" : "boxes", options.boxes);
  return OkStatus();
}

Status AskOnce(const AskOptions& options, const Session& session, const std::vector<std::string>& names) {
  SACCADE_ASSIGN_OR_RETURN(ChatInput input, Begin(options, session, names));
  input.conversation.messages.back().parts.emplace_back().text = options.arguments.back();
  ShowPictures(options, input);
  AskAnswer answer(!options.json, OnTerminal());
  SACCADE_RETURN_IF_ERROR(NameThePicture(Run(session, input, answer), names));
  if (options.json) {
    const OrderedJson json = AnswerJson(answer, session.engine->checkpoint().load_ms);
    fmt::print("{}\n", json.dump(2, ' ', false, OrderedJson::error_handler_t::replace));
  } else {
    fmt::print("\n");
  }
  return DrawAnswer(options, input, answer.text());
}

Status AskEach(const AskOptions& options, const Session& session, const std::vector<std::string>& names) {
  return AskMany(names, options.out, [&](const std::string& name) -> Result<OrderedJson> {
    SACCADE_ASSIGN_OR_RETURN(ChatInput input, Begin(options, session, {name}));
    input.conversation.messages.back().parts.emplace_back().text = options.arguments.back();
    AskAnswer answer(false, false);
    SACCADE_RETURN_IF_ERROR(NameThePicture(Run(session, input, answer), {name}));
    return AnswerJson(answer, session.engine->checkpoint().load_ms);
  });
}

// Questions from standard input, one a line, each knowing those before it; an empty line or the end stops.
Status Converse(const AskOptions& options, const Session& session, const std::vector<std::string>& names) {
  SACCADE_ASSIGN_OR_RETURN(ChatInput input, Begin(options, session, names));
  ShowPictures(options, input);
  std::vector<Message>& messages = input.conversation.messages;
  bool first = true;
  std::string question;
  while (true) {
    if (isatty(STDIN_FILENO) != 0) fmt::print(stderr, "> ");
    if (!std::getline(std::cin, question) || question.empty()) return OkStatus();
    if (first) {
      messages.back().parts.emplace_back().text = question;
    } else {
      messages.push_back(Message::Text(Role::kUser, question));
    }
    first = false;
    AskAnswer answer(true, OnTerminal());
    SACCADE_RETURN_IF_ERROR(NameThePicture(Run(session, input, answer), names));
    fmt::print("\n");
    SACCADE_RETURN_IF_ERROR(DrawAnswer(options, input, answer.text()));
    messages.push_back(Message::Text(Role::kAssistant, answer.text()));
  }
}

Status Ask(const AskOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  if (!options.interactive) {
    if (arguments.empty()) return InvalidArgument("a question is required");
    arguments.pop_back();
  }
  SACCADE_ASSIGN_OR_RETURN(const AskFiles files, ExpandArguments(arguments));
  const bool each = files.many || options.each || !options.out.empty();
  if (each && files.names.empty()) return InvalidArgument("there is no file to ask about");
  if (each && (options.interactive || !options.boxes.empty())) {
    return InvalidArgument("--interactive and --boxes are for one question at a time, not for many files");
  }
  SACCADE_ASSIGN_OR_RETURN(const Session session, Open(options));
  if (options.interactive) return Converse(options, session, files.names);
  return each ? AskEach(options, session, files.names) : AskOnce(options, session, files.names);
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

void AddDocumentOptions(CLI::App& command, AskOptions& options) {
  command.add_flag("--each", options.each, "Ask about each file by itself; folders and patterns always do");
  command.add_option("--out", options.out,
                     "Write the results about each file here: .csv, or else JSON lines");
  command.add_flag("-i,--interactive", options.interactive,
                   "Read questions from standard input, one a line, with the conversation so far");
  command.add_option("--boxes", options.boxes,
                     "Write the picture here as PNG with the boxes of the answer on it");
  command.add_option("--show", options.show, "Show pictures on the terminal")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
  command.add_option("--pages", options.documents.pages, "Pages of documents, as in 1-3,8");
  command.add_option("--dpi", options.documents.dpi, "Resolution of PDF pages; 0 is automatic")
      ->check(CLI::Range(0.0, 1200.0));
  command.add_flag("--page-text", options.documents.text, "Also give the model the text layer of PDF pages");
  command.add_flag("--together", options.together,
                   "All pages of a document in one prompt instead of page by page");
  command.add_option("--page-prompt", options.page_prompt, "Said after the question about each page");
  command
      .add_option("--min-confidence", options.min_confidence,
                  "Pages whose answers are less sure do not count")
      ->check(CLI::Range(0.0, 1.0));
}

}  // namespace

void AddAskCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<AskOptions>();
  CLI::App* command = program.add_subcommand("ask", "Ask a question about pictures");
  command
      ->add_option("arguments", options->arguments,
                   "Pictures, PDF files (- for standard input), folders or patterns, then the question")
      ->required();
  AddDocumentOptions(*command, *options);
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
