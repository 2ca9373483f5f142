// saccade serve: the HTTP server with the page and the OpenAI API.
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <thread>

#include "base/log.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/model_options.h"
#include "server/server.h"

namespace saccade {
namespace {

struct ServeOptions {
  ModelOptions model;
  ServerOptions server;
  int max_running = 16, max_waiting = 64;
  double max_gap_ms = 250;
  int64_t image_cache_mb = 256, upload_mb = 256, upload_seconds = 3600;
  bool no_prefix_cache = false;
  int drain_seconds = 30;
  std::string log_format = "auto", log_level = "info";
  std::string data_directory;  // empty: no durable tasks
  int64_t spool_mb = 8192;
  int64_t max_tasks = 100'000;
};

// The address to type: 0.0.0.0 and :: are where the server listens, not where a browser can go.
std::string Url(const ServeOptions& options, int port) {
  std::string host = options.server.http.host;
  if (host == "0.0.0.0" || host == "::") host = "127.0.0.1";
  if (host.find(':') != std::string::npos) host = "[" + host + "]";
  return fmt::format("http://{}:{}", host, port);
}

std::string DescribeOrigin(const WeightOrigin& origin) {
  std::string text;
  switch (origin.kind) {
    case WeightOrigin::Kind::kMemory:
      text = "weights packed in memory";
      break;
    case WeightOrigin::Kind::kMapped:
      text = fmt::format("weights mapped from {}", origin.file.string());
      break;
    case WeightOrigin::Kind::kBuilt:
      text = fmt::format("weights written to {}, which the next start maps", origin.file.string());
      break;
  }
  return origin.note.empty() ? text : fmt::format("{} ({})", text, origin.note);
}

void PrintWelcome(const std::string& url, const Checkpoint& checkpoint) {
  fmt::print("Saccade is ready with {} (loaded in {:.1f} s): open {} or try\n", checkpoint.name,
             checkpoint.load_ms / 1000, url);
  fmt::print(
      "  curl {}/v1/chat/completions -H 'Content-Type: application/json' -d "
      "'{{\"model\": \"default\", \"messages\": [{{\"role\": \"user\", \"content\": \"Hello\"}}]}}'\n",
      url);
  std::fflush(stdout);
}

void WaitForInterrupt() {
  pollfd descriptor = {InterruptDescriptor(), POLLIN, 0};
  while (InterruptCount() == 0) poll(&descriptor, 1, -1);
}

// Lets running answers finish; a second signal ends the patience.
void DrainServer(Server& server, int seconds) {
  std::atomic<bool> drained{false};
  std::thread watcher([&] {
    while (!drained && InterruptCount() < 2) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (!drained) server.AbortDrain();
  });
  server.Drain(std::chrono::seconds(seconds));
  drained = true;
  watcher.join();
}

Result<std::shared_ptr<TaskQueue>> OpenTasks(const ServeOptions& options) {
  if (options.data_directory.empty()) return std::shared_ptr<TaskQueue>();
  TaskQueueOptions queue_options;
  queue_options.data_directory = options.data_directory;
  queue_options.max_spool_bytes = options.spool_mb << 20;
  queue_options.store.max_queued = options.max_tasks;
  SACCADE_ASSIGN_OR_RETURN(std::unique_ptr<TaskQueue> queue, TaskQueue::Open(queue_options));
  for (const std::string& warning : queue->Warnings()) fmt::print(stderr, "saccade: warning: {}\n", warning);
  return std::shared_ptr<TaskQueue>(std::move(queue));
}

Status Serve(ServeOptions options) {
  SACCADE_ASSIGN_OR_RETURN(const ModelChoice choice, ChooseModel(options.model));
  SACCADE_RETURN_IF_ERROR(SelectIsa().status());
  SACCADE_ASSIGN_OR_RETURN(options.server.tasks, OpenTasks(options));
  options.server.max_tasks_in_flight = options.max_running + 2;
  // The socket first: /healthz answers while the model is loading, and a taken port is known at once.
  ServerOptions server_options = options.server;
  server_options.image_store = {static_cast<size_t>(options.upload_mb) << 20,
                                std::chrono::seconds(options.upload_seconds)};
  SACCADE_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server, Server::Start(server_options));
  SACCADE_ASSIGN_OR_RETURN(std::shared_ptr<const Checkpoint> checkpoint,
                           LoadCheckpoint(options.model, choice));
  if (!checkpoint->template_note.empty()) fmt::print(stderr, "saccade: {}\n", checkpoint->template_note);
  EngineOptions engine_options = MakeEngineOptions(options.model, choice);
  engine_options.max_running = options.max_running;
  engine_options.max_waiting = options.max_waiting;
  engine_options.max_gap_ms = options.max_gap_ms;
  engine_options.image_cache_bytes = options.image_cache_mb << 20;
  engine_options.prefix_cache = !options.no_prefix_cache;
  SACCADE_ASSIGN_OR_RETURN(const MemoryPlan plan, PlanEngineMemory(*checkpoint, engine_options));
  fmt::print(stderr, "saccade: {}\nsaccade: memory plan\n{}", DescribeOrigin(checkpoint->model->origin()),
             plan.Describe());
  SACCADE_ASSIGN_OR_RETURN(std::unique_ptr<Engine> started,
                           Engine::Start(std::move(checkpoint), engine_options));
  const std::shared_ptr<Engine> engine = std::move(started);
  server->SetBackend(MakeEngineBackend(engine));
  PrintWelcome(Url(options, server->port()), engine->checkpoint());
  WaitForInterrupt();
  fmt::print(stderr,
             "saccade: stopping; running answers may finish for {} s (interrupt again to stop at once)\n",
             options.drain_seconds);
  DrainServer(*server, options.drain_seconds);
  return OkStatus();
}

}  // namespace

namespace {

// Who may connect, and what is written down about it.
void AddAccessOptions(CLI::App& command, ServeOptions& options) {
  command.add_option("--api-keys", options.server.api_keys_file,
                     "File of API keys, see `saccade key`; requests without one of them get 401. Read again "
                     "when it changes");
  command.add_flag("--insecure-bind", options.server.insecure_bind,
                   "Listen where other machines can connect even without API keys");
  command
      .add_option("--log-format", options.log_format, "Log lines as text or json; auto: text on a terminal")
      ->check(CLI::IsMember({"auto", "text", "json"}))
      ->capture_default_str();
  command.add_option("--log-level", options.log_level, "Least level of what is logged")
      ->check(CLI::IsMember({"debug", "info", "warning", "error", "off"}))
      ->capture_default_str();
}

Status ApplyLogOptions(const ServeOptions& options) {
  const bool json =
      options.log_format == "json" || (options.log_format == "auto" && isatty(STDERR_FILENO) == 0);
  SetLogFormat(json ? LogFormat::kJson : LogFormat::kText);
  SACCADE_ASSIGN_OR_RETURN(const LogLevel level, ParseLogLevel(options.log_level));
  SetLogLevel(level);
  return OkStatus();
}

}  // namespace

void AddServeCommand(CLI::App& program, Command& chosen) {
  auto options = std::make_shared<ServeOptions>();
  CLI::App* command = program.add_subcommand("serve", "Serve the web page and the OpenAI-compatible API");
  options->model.AddTo(*command);
  HttpServerOptions& http = options->server.http;
  command->add_option("--host", http.host, "Address to listen on")->capture_default_str();
  command->add_option("--port", http.port, "Port to listen on; 0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  AddAccessOptions(*command, *options);
  command->add_option("--max-running", options->max_running, "Answers that are generated together")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--max-waiting", options->max_waiting, "Requests that may wait; more get 429")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--image-cache-mb", options->image_cache_mb,
                   "MiB of encoded pictures that are kept for later questions")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command->add_option("--upload-mb", options->upload_mb, "MiB of pictures that POST /v1/images keeps")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--upload-seconds", options->upload_seconds, "How long an uploaded picture is kept unused")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command
      ->add_option("--document-pages", options->server.documents.max_pages,
                   "Most pages of one PDF or TIFF in a request")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_flag("--truncate-documents", options->server.documents.truncate,
                    "Leave out pages over the limit instead of refusing the document");
  command
      ->add_option("--max-gap-ms", options->max_gap_ms,
                   "Longest pause in running answers that pictures and prompts of others may cause")
      ->check(CLI::Range(10.0, 10000.0))
      ->capture_default_str();
  command->add_flag("--no-prefix-cache", options->no_prefix_cache,
                    "Compute every prompt from its first token, also what an earlier request began with");
  command
      ->add_option("--drain-seconds", options->drain_seconds,
                   "How long running answers may go on after SIGTERM")
      ->check(CLI::Range(0, 86400))
      ->capture_default_str();
  command->add_option("--data-dir", options->data_directory,
                      "Folder for durable tasks (POST /api/task); without it there are none");
  command->add_option("--spool-mb", options->spool_mb, "MiB of uploads of tasks that have not ended")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->add_option("--max-tasks", options->max_tasks, "Tasks that may be queued; more get 429")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  command->callback([options, &chosen] {
    chosen = [options] {
      // A file size limit is then an error of the write, answered with 507, and not the end of the server.
      std::signal(SIGXFSZ, SIG_IGN);
      CatchInterrupts();
      const Status logs = ApplyLogOptions(*options);
      return Report(logs.ok() ? Serve(*options) : logs);
    };
  });
}

}  // namespace saccade
