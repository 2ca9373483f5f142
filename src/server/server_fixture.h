// The whole server over real sockets, with a scripted backend in place of the engine. Tests only.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/status_testing.h"
#include "server/fake_backend.h"
#include "server/server.h"
#include "server/server_testing.h"

namespace saccade::testing {

class FakeServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([](std::string_view) {});
  }
  void TearDown() override {
    server_.reset();
    SetLogSink(nullptr);
  }
  // On a free port; without a script no backend is set.
  void StartServer(FakeBackend::Script script, ServerOptions options = {}) {
    options.http.port = 0;
    auto started = Server::Start(options);
    SACCADE_ASSERT_OK(started);
    server_ = std::move(*started);
    if (!script) return;
    backend_ = std::make_shared<FakeBackend>(std::move(script));
    server_->SetBackend(backend_);
  }
  ClientReply Post(const std::string& path, const std::string& body) {
    return TestClient(server_->port()).Post(path, body);
  }
  static Json Parsed(const std::string& text) {
    auto parsed = ParseJson(text);
    EXPECT_TRUE(parsed.ok()) << text;
    return parsed.ok() ? *parsed : Json();
  }

  std::shared_ptr<FakeBackend> backend_;  // outlives the server
  std::unique_ptr<Server> server_;
};

}  // namespace saccade::testing
