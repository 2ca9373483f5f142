// The whole server over real sockets, with a scripted backend in place of the engine.
#include "server/server.h"

#include <fmt/format.h>

#include <future>

#include "server/server_fixture.h"

namespace saccade {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using testing::ClientReply;
using ::testing::ElementsAre;
using testing::Eventually;
using testing::FakeBackend;
using testing::FakeRun;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using testing::TestClient;

const std::string kChat = "/v1/chat/completions";
const std::string kHello = R"({"messages":[{"role":"user","content":"hi"}]})";
const std::string kStream = R"({"messages":[{"role":"user","content":"hi"}],"stream":true})";

class ServerTest : public testing::FakeServerTest {
 protected:
  void SetUp() override {
    SetLogSink([this](std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_ += std::string(line) + "\n";
    });
  }
  std::string LogText() {
    const std::lock_guard lock(log_mutex_);
    return log_;
  }

  ClientReply Ask(const std::string& body) { return TestClient(server_->port()).Post(kChat, body); }
  void ExpectError(const ClientReply& reply, int status, std::string_view type, std::string_view code,
                   const Json& param = nullptr) {
    EXPECT_EQ(reply.status, status) << reply.body;
    const Json error = Parsed(reply.body)["error"];
    EXPECT_EQ(error["type"], type);
    EXPECT_EQ(error["code"], code);
    EXPECT_EQ(error["param"], param);
    EXPECT_EQ(error["message"].get<std::string>().empty(), false);
  }

  // The events of a streamed answer, each without the empty line.
  static std::vector<std::string> Events(const std::string& body) {
    std::vector<std::string> events;
    size_t from = 0, end;
    while ((end = body.find("\n\n", from)) != std::string::npos) {
      events.push_back(body.substr(from, end - from));
      from = end + 2;
    }
    EXPECT_EQ(from, body.size()) << "the last event is cut";
    return events;
  }

  std::mutex log_mutex_;
  std::string log_;
};

void SayHello(FakeRun& run) {
  run.Text("Hello");
  run.Text(" there");
  run.Finish();
}

TEST_F(ServerTest, AnswersWhole) {
  StartServer(SayHello);
  TestClient client(server_->port());
  const ClientReply reply = client.Post(kChat, kHello, "X-Request-Id: my-id\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("content-type"), "application/json");
  EXPECT_EQ(reply.Header("x-request-id"), "my-id");
  const Json body = Parsed(reply.body);
  EXPECT_THAT(body["id"].get<std::string>(), StartsWith("chatcmpl-"));
  EXPECT_EQ(body["object"], "chat.completion");
  EXPECT_EQ(body["model"], "fake-model");
  EXPECT_EQ(body["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(body["choices"][0]["message"]["content"], "Hello there");
  EXPECT_EQ(body["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(body["usage"]["prompt_tokens"], 210);
  EXPECT_EQ(body["usage"]["completion_tokens"], 2);
  EXPECT_EQ(body["usage"]["total_tokens"], 212);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["image_tokens"], 196);
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 64);
  EXPECT_EQ(body["timings_ms"]["first_token"], 812.5);
  EXPECT_EQ(client.Post(kChat, kHello).status, 200);  // the connection is kept
}

TEST_F(ServerTest, StreamsInOrder) {
  StartServer([](FakeRun& run) {
    run.Progress(ProgressEvent::Stage::kQueued, 2, 0);
    run.Progress(ProgressEvent::Stage::kQueued, 2, 0);
    run.Progress(ProgressEvent::Stage::kVision, 3, 24);
    run.Progress(ProgressEvent::Stage::kPrefill, 256, 1024);
    run.Text("");
    SayHello(run);
  });
  TestClient client(server_->port());
  const ClientReply reply = client.Post(
      kChat,
      R"({"messages":[{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true}})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.Header("content-type"), StartsWith("text/event-stream"));
  const auto events = Events(reply.body);
  ASSERT_EQ(events.size(), 8u) << reply.body;
  EXPECT_EQ(events[0], ": queued 2");
  EXPECT_EQ(events[1], ": encoding 3/24");
  EXPECT_EQ(events[2], ": prefill 256/1024");
  const Json first = Parsed(events[3].substr(6)), second = Parsed(events[4].substr(6));
  EXPECT_EQ(first["object"], "chat.completion.chunk");
  EXPECT_EQ(first["choices"][0]["delta"], Json({{"role", "assistant"}, {"content", "Hello"}}));
  EXPECT_EQ(first["choices"][0]["finish_reason"], nullptr);
  EXPECT_EQ(second["choices"][0]["delta"], Json({{"content", " there"}}));
  EXPECT_EQ(second["id"], first["id"]);
  const Json last = Parsed(events[5].substr(6));
  EXPECT_EQ(last["choices"][0]["delta"], Json::object());
  EXPECT_EQ(last["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(last["timings_ms"]["decode"], 1500);
  const Json usage = Parsed(events[6].substr(6));
  EXPECT_EQ(usage["choices"], Json::array());
  EXPECT_EQ(usage["usage"]["completion_tokens"], 3);
  EXPECT_EQ(events[7], "data: [DONE]");
  EXPECT_EQ(client.Get("/healthz").status, 200);  // the connection is kept
}

TEST_F(ServerTest, EmptyAnswerStillNamesTheRole) {
  StartServer([](FakeRun& run) { run.Finish(FinishReason::kLength); });
  const auto events = Events(Ask(kStream).body);
  ASSERT_EQ(events.size(), 2u);
  const Json chunk = Parsed(events[0].substr(6));
  EXPECT_EQ(chunk["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(chunk["choices"][0]["finish_reason"], "length");
}

TEST_F(ServerTest, NeverTearsACharacter) {
  const std::string text = "\xE4\xBD\xA0\xE5\xA5\xBD \xF0\x9F\x98\x80!";
  const auto script = [text](FakeRun& run) {
    for (const char byte : text) run.Text(std::string(1, byte));
    run.Text("\xE4\xBD");  // an answer cut inside a character
    run.Finish();
  };
  StartServer(script);
  std::string joined;
  for (const std::string& event : Events(Ask(kStream).body)) {
    if (event == "data: [DONE]") continue;
    const Json chunk = Parsed(event.substr(6));
    const std::string piece = chunk["choices"][0]["delta"].value("content", "");
    EXPECT_THAT(piece, ::testing::AnyOf("", Not(HasSubstr("\xEF\xBF\xBD")), "\xEF\xBF\xBD"));
    joined += piece;
  }
  EXPECT_EQ(joined, text + "\xEF\xBF\xBD");
  EXPECT_EQ(Parsed(Ask(kHello).body)["choices"][0]["message"]["content"], text + "\xEF\xBF\xBD");
}

TEST_F(ServerTest, ReportsLogprobs) {
  StartServer([](FakeRun& run) {
    TextEvent event;
    event.text = "a";
    event.tokens = {3};
    event.logprobs = {{3, -0.5f, {{3, -0.5f}, {7, -1.5f}}}};
    run.Emit(event);
    run.Finish();
  });
  const std::string body =
      R"({"messages":[{"role":"user","content":"hi"}],"logprobs":true,"top_logprobs":2,"stream":)";
  const Json whole = Parsed(Ask(body + "false}").body)["choices"][0]["logprobs"]["content"][0];
  EXPECT_EQ(whole["token"], "tok3");
  EXPECT_EQ(whole["logprob"], -0.5);
  EXPECT_EQ(whole["top_logprobs"][1]["bytes"], Json({0xE4, 0xBD}));
  EXPECT_EQ(whole["top_logprobs"][1]["token"], "\xEF\xBF\xBD");
  const Json chunk = Parsed(Events(Ask(body + "true}").body)[0].substr(6));
  EXPECT_EQ(chunk["choices"][0]["logprobs"]["content"][0], whole);
  EXPECT_EQ(backend_->last_input().options.top_logprobs, 2);
}

TEST_F(ServerTest, EveryErrorHasItsStatus) {
  const std::pair<Status, std::pair<int, const char*>> rows[] = {
      {InvalidArgument("x"), {400, "invalid_request_error"}},
      {Unsupported("x"), {400, "invalid_request_error"}},
      {TooLarge("x"), {413, "invalid_request_error"}},
      {Unauthenticated("x"), {401, "authentication_error"}},
      {NotFound("x"), {404, "invalid_request_error"}},
      {ResourceExhausted("x"), {429, "rate_limit_error"}},
      {Unavailable("x"), {503, "server_error"}},
      {InsufficientStorage("x"), {507, "server_error"}},
      {DeadlineExceeded("x"), {504, "server_error"}},
      {Internal("x"), {500, "server_error"}},
  };
  Status outcome, at_prepare;
  StartServer([&](FakeRun& run) { run.Fail(outcome); });
  backend_->on_prepare = [&](const ChatInput&) { return at_prepare; };
  for (const auto& [status, expected] : rows) {
    SCOPED_TRACE(status.ToString());
    outcome = status;  // fails before the first event: a proper status line, streamed or not
    at_prepare = OkStatus();
    const std::string_view code = StatusCodeName(status.code());
    ExpectError(Ask(kHello), expected.first, expected.second, code);
    at_prepare = status;
    const ClientReply reply = Ask(kStream);
    ExpectError(reply, expected.first, expected.second, code);
    EXPECT_EQ(reply.Header("retry-after").empty(), expected.first != 429 && expected.first != 503);
  }
}

TEST_F(ServerTest, ErrorsOfPicturesNameTheirPlace) {
  StartServer(SayHello);
  backend_->on_prepare = [](const ChatInput& input) {
    EXPECT_EQ(input.pictures.size(), 2u);
    return InvalidArgument("not a picture").WithParam("pictures[1]");
  };
  const ClientReply reply =
      Ask(R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":"YQ=="},
      {"type":"text","text":"and"},{"type":"image_url","image_url":{"url":"Yg=="}}]}]})");
  ExpectError(reply, 400, "invalid_request_error", "invalid_argument", "messages[0].content[2].image_url");
}

TEST_F(ServerTest, RefusedBySubmit) {
  StartServer(SayHello);
  backend_->on_submit = [] { return ResourceExhausted("the queue is full"); };
  const ClientReply reply = Ask(kStream);
  ExpectError(reply, 429, "rate_limit_error", "resource_exhausted");
  EXPECT_EQ(reply.Header("retry-after"), "1");
}

TEST_F(ServerTest, ErrorInTheMiddleOfAStream) {
  StartServer([](FakeRun& run) {
    run.Text("Hel");
    run.Fail(Internal("a number is not finite"));
  });
  const auto events = Events(Ask(kStream).body);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(Parsed(events[1].substr(6))["error"]["message"], "a number is not finite");
  ExpectError(Ask(kHello), 500, "server_error", "internal");
}

TEST_F(ServerTest, BadRequestsNameTheField) {
  StartServer(SayHello);
  ExpectError(Ask("{"), 400, "invalid_request_error", "invalid_argument");
  ExpectError(Ask(R"({"messages":[{"role":"user","content":"x"}],"temperature":9})"), 400,
              "invalid_request_error", "invalid_argument", "temperature");
  ExpectError(Ask(R"({"messages":[{"role":"user","content":"x"}],"tools":[{}]})"), 400,
              "invalid_request_error", "unsupported", "tools");
  ExpectError(Ask(R"({"messages":[{"role":"user","content":"x"}],"model":"gpt-4o"})"), 404,
              "invalid_request_error", "model_not_found", "model");
  EXPECT_EQ(Ask(R"({"messages":[{"role":"user","content":"x"}],"model":"fake-model"})").status, 200);
}

TEST_F(ServerTest, BodyLimit) {
  ServerOptions options;
  options.max_body_bytes = 100'000;
  StartServer(SayHello, options);
  TestClient client(server_->port());
  client.Send("POST " + kChat + " HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n");
  ExpectError(client.ReadReply(), 413, "invalid_request_error", "too_large");
}

TEST_F(ServerTest, ClientGoneCancels) {
  StartServer([](FakeRun& run) {
    while (!run.WaitForCancel(milliseconds(2))) run.Text("more ");  // never ends by itself
    run.Finish(FinishReason::kCancelled);
  });
  for (const std::string& body : {kHello, kStream}) {
    const int64_t before = backend_->cancels();
    TestClient client(server_->port());
    client.SendPost(kChat, body);
    if (body == kStream) {
      client.ReadHead();
      EXPECT_THAT(client.ReadChunk(), HasSubstr("more"));
    } else {
      EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 1; }));
    }
    client.Close();
    EXPECT_TRUE(Eventually([&] { return backend_->cancels() == before + 1; }));
    EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 0; }));
  }
  EXPECT_TRUE(Eventually([&] { return LogText().find("status=499") != std::string::npos; }));
}

TEST_F(ServerTest, ClientGoneWhilePreparing) {
  testing::TestEvent preparing, go_on;
  std::atomic<bool> submitted{false};
  StartServer(SayHello);
  backend_->on_prepare = [&](const ChatInput&) {
    preparing.Set();
    go_on.Wait();
    return OkStatus();
  };
  backend_->on_submit = [&] {
    submitted = true;
    return OkStatus();
  };
  TestClient client(server_->port());
  client.SendPost(kChat, kHello);
  EXPECT_TRUE(preparing.Wait());
  client.Close();
  EXPECT_TRUE(Eventually([&] { return LogText().find("status=499") != std::string::npos; }));
  go_on.Set();
  server_.reset();
  EXPECT_FALSE(submitted);
}

TEST_F(ServerTest, HeartbeatsWhileNothingHappens) {
  ServerOptions options;
  options.heartbeat = milliseconds(20);
  testing::TestEvent go_on;
  StartServer(
      [&](FakeRun& run) {
        go_on.Wait();
        SayHello(run);
      },
      options);
  TestClient client(server_->port());
  client.SendPost(kChat, kStream);
  EXPECT_EQ(client.ReadHead().status, 200);  // before any event
  EXPECT_EQ(client.ReadChunk(), ": ping\n\n");
  EXPECT_EQ(client.ReadChunk(), ": ping\n\n");
  go_on.Set();
  EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 0; }));
}

TEST_F(ServerTest, AliveBeforeReady) {
  StartServer(nullptr);
  TestClient client(server_->port());
  EXPECT_EQ(client.Get("/healthz").status, 200);
  EXPECT_EQ(client.Get("/").status, 200);
  EXPECT_EQ(Parsed(client.Get("/v1/models").body)["data"], Json::array());
  EXPECT_EQ(client.Get("/v1/models/default").status, 503);
  const ClientReply loading = client.Get("/readyz");
  ExpectError(loading, 503, "server_error", "unavailable");
  EXPECT_NE(loading.Header("retry-after"), "");
  ExpectError(Ask(kHello), 503, "server_error", "unavailable");
  server_->SetNotReady(Unavailable("loading the model failed: no such folder"));
  EXPECT_THAT(client.Get("/readyz").body, HasSubstr("no such folder"));
  backend_ = std::make_shared<FakeBackend>(SayHello);
  server_->SetBackend(backend_);
  EXPECT_EQ(Parsed(client.Get("/readyz").body)["status"], "ready");
  EXPECT_EQ(Ask(kHello).status, 200);
  EXPECT_EQ(Parsed(client.Get("/v1/models").body)["data"][0]["id"], "fake-model");
  EXPECT_EQ(Parsed(client.Get("/v1/models/default").body)["id"], "fake-model");
  ExpectError(client.Get("/v1/models/other"), 404, "invalid_request_error", "model_not_found", "model");
}

TEST_F(ServerTest, DrainStopsAnswersWithALastMessage) {
  testing::TestEvent begun;
  StartServer([&](FakeRun& run) {
    run.Text("Hel");
    begun.Set();
    EXPECT_TRUE(run.WaitForCancel(milliseconds(testing::kPatienceMs)));
    run.Finish(FinishReason::kCancelled);
  });
  TestClient client(server_->port());
  client.SendPost(kChat, kStream);
  EXPECT_TRUE(begun.Wait());
  auto drained = std::async(std::launch::async, [&] { server_->Drain(milliseconds(50)); });
  const auto events = Events(client.ReadReply().body);
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(Parsed(events[1].substr(6))["error"]["message"], "the server is stopping");
  client.Close();
  drained.wait();
}

TEST_F(ServerTest, LogsNumbersButNoContents) {
  StartServer(SayHello);
  Ask(R"({"messages":[{"role":"user","content":[{"type":"text","text":"my secret"},
      {"type":"image_url","image_url":"c2VjcmV0"}]}]})");
  EXPECT_TRUE(Eventually([&] { return LogText().find("event") != std::string::npos || !LogText().empty(); }));
  EXPECT_THAT(LogText(),
              AllOf(HasSubstr("path=/v1/chat/completions status=200"), HasSubstr("completion_tokens=2"),
                    HasSubstr("image_tokens=196"), Not(HasSubstr("secret")), Not(HasSubstr("c2VjcmV0")),
                    Not(HasSubstr("Hello"))));
}

TEST_F(ServerTest, MetricsCount) {
  StartServer(SayHello);
  Ask(kHello);
  Ask("{");
  TestClient client(server_->port());
  const char* lines[] = {
      R"(saccade_http_requests_total{route="/v1/chat/completions",method="POST",status="200"} 1)",
      R"(saccade_http_requests_total{route="/v1/chat/completions",method="POST",status="400"} 1)",
      R"(saccade_requests_refused_total{reason="invalid_argument"} 1)",
      "saccade_time_to_first_token_seconds_count 1",
      "saccade_token_gap_seconds_count 1",
      "saccade_requests_running 0",
      "process_resident_memory_bytes ",
      "saccade_http_connections ",
      "# TYPE saccade_token_gap_seconds histogram",
  };
  for (const char* line : lines) {
    // A request is counted just after its last byte was sent.
    EXPECT_TRUE(Eventually([&] { return client.Get("/metrics").body.find(line) != std::string::npos; }))
        << line;
  }
  EXPECT_THAT(client.Get("/metrics").Header("content-type"), StartsWith("text/plain; version=0.0.4"));
}

TEST_F(ServerTest, ClientsThatDisconnectAtAnyMomentLeaveNothingBehind) {
  StartServer([](FakeRun& run) {
    for (int i = 0; i < 20 && !run.WaitForCancel(milliseconds(1)); ++i) run.Text("piece ");
    run.Finish(run.cancelled() ? FinishReason::kCancelled : FinishReason::kStop);
  });
  std::vector<std::future<void>> clients;
  for (int c = 0; c < 8; ++c) {
    clients.push_back(std::async(std::launch::async, [&, c] {
      for (int i = 0; i < 15; ++i) {
        TestClient client(server_->port());
        const std::string& body = i % 2 == 0 ? kHello : kStream;
        // From the middle of the header to the end of the answer.
        const int moment = (i * 8 + c) % 5;
        if (moment == 0) client.Send("POST " + kChat + " HTTP/1.1\r\nHo");
        if (moment == 1)
          client.Send("POST " + kChat + " HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{");
        if (moment >= 2) client.SendPost(kChat, body);
        if (moment >= 3) client.ReadHead();
        if (moment == 4) client.ReadBytes(200);
      }
    }));
  }
  for (auto& client : clients) client.get();
  EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 0; }));
  TestClient client(server_->port());
  EXPECT_TRUE(Eventually(
      [&] { return client.Get("/metrics").body.find("saccade_http_connections 1\n") != std::string::npos; }));
  EXPECT_EQ(Ask(kHello).status, 200);
}

TEST_F(ServerTest, ManyAnswersAtOnce) {
  StartServer(SayHello);
  std::vector<std::future<int>> clients;
  for (int c = 0; c < 16; ++c) {
    clients.push_back(std::async(std::launch::async, [&] {
      TestClient client(server_->port());
      int good = 0;
      for (int i = 0; i < 20; ++i) good += client.Post(kChat, i % 2 == 0 ? kHello : kStream).status == 200;
      return good;
    }));
  }
  for (auto& client : clients) EXPECT_EQ(client.get(), 20);
}

TEST_F(ServerTest, DescribesItself) {
  StartServer(SayHello);
  TestClient client(server_->port());
  const Json document = Parsed(client.Get("/openapi.json").body);
  EXPECT_EQ(document["openapi"], "3.1.0");
  for (const char* path : {"/v1/chat/completions", "/v1/models", "/v1/models/{model}", "/healthz", "/readyz",
                           "/metrics", "/openapi.json", "/", "/examples/", "/examples/{file}"}) {
    EXPECT_TRUE(document["paths"].contains(path)) << path;
  }
  const Json chat = document["components"]["schemas"]["ChatRequest"]["properties"];
  EXPECT_EQ(chat["top_p"]["maximum"], 1);
  EXPECT_EQ(chat["messages"]["items"]["$ref"], "#/components/schemas/Message");
}

}  // namespace
}  // namespace saccade
