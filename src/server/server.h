// Facade of the server layer: the HTTP server with its page and API, alive before the model is loaded.
//
//   SACCADE_ASSIGN_OR_RETURN(auto server, Server::Start(options));   // answers /healthz from here on
//   server->SetBackend(MakeEngineBackend(engine));                   // answers questions from here on
//   ... wait for a signal ...
//   server->Drain(std::chrono::seconds(30));
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/status.h"
#include "server/answer_format.h"  // IWYU pragma: export
#include "server/api_keys.h"       // IWYU pragma: export
#include "server/chat_backend.h"
#include "server/document_parts.h"  // IWYU pragma: export
#include "server/engine_backend.h"  // IWYU pragma: export
#include "server/http_server.h"
#include "server/image_store.h"
#include "server/page_by_page.h"  // IWYU pragma: export
#include "tasks/task_queue.h"

namespace saccade {

struct ServerOptions {
  HttpServerOptions http;                       // host, port, threads, limits, timeouts
  size_t max_body_bytes = size_t{64} << 20;     // of a chat request, pictures as base64 included
  size_t max_pictures = 64;                     // per request
  std::chrono::milliseconds heartbeat{10'000};  // a comment after this much silence of a stream
  std::filesystem::path api_keys_file;          // see api_keys.h; empty: no keys, everybody is served
  bool insecure_bind = false;                   // listen where other machines can connect even without keys
  DocumentSettings documents;                   // pages and limits of PDF files and TIFFs in requests
  std::shared_ptr<TaskQueue> tasks;             // null: no durable tasks
  int max_tasks_in_flight = 18;                 // a little over what the engine answers together
  ImageStoreOptions image_store;                // of POST /v1/images
};

// Thread-safe. Has no signal handlers: those are the program's.
class Server {
 public:
  static Result<std::unique_ptr<Server>> Start(ServerOptions options);
  ~Server();  // drains with no patience

  // The port that was bound; differs from the options' when that was 0.
  int port() const;

  void SetBackend(std::shared_ptr<ChatBackend> backend);
  // What /readyz and refused requests say instead of "the model is still loading".
  void SetNotReady(Status reason);

  // Refuses new requests, lets running answers finish for at most `timeout`, then stops them with a last
  // message. Returns when nothing runs any more.
  void Drain(std::chrono::milliseconds timeout);
  // From another thread or after a second signal: makes a running Drain lose its patience.
  void AbortDrain();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace saccade
