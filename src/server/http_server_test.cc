#include "server/http_server.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <future>

#include "base/json.h"
#include "base/log.h"
#include "base/status_testing.h"
#include "server/server_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::ClientReply;
using ::saccade::testing::Eventually;
using ::saccade::testing::TestClient;
using ::saccade::testing::TestEvent;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

HttpResponse Text(std::string body) {
  HttpResponse response;
  response.content_type = "text/plain";
  response.body = std::move(body);
  return response;
}

// A server with routes that answer at once, echo, or hand the exchange to the test.
class HttpServerTest : public ::testing::Test {
 protected:
  void StartServer(HttpServerOptions options = {}) {
    options.port = 0;
    Router router;
    router.Add({"GET", "/hello", [](auto exchange) { exchange->Send(Text("hello")); }});
    router.Add(
        {"GET", "/name/{name}", [](auto exchange) { exchange->Send(Text(exchange->request().path_tail)); }});
    router.Add({"POST", "/echo", [](auto exchange) { exchange->Send(Text(exchange->request().body)); }, true,
                100'000});
    router.Add({"POST", "/hold", [this](auto exchange) { Hold(std::move(exchange)); }, false, 100'000});
    router.Add({"GET", "/hold", [this](auto exchange) { Hold(std::move(exchange)); }});
    router.Add({"GET", "/throw", [](auto) { throw std::runtime_error("thrown on purpose"); }});
    router.Add({"GET", "/throw-worker", [](auto) { throw std::runtime_error("thrown on purpose"); }, true});
    router.Add({"GET", "/big", [](auto exchange) { exchange->Send(Text(std::string(3'000'000, 'x'))); }});
    auto started =
        HttpServer::Start(std::move(options), std::move(router), gate_, [this](const RequestRecord& record) {
          const std::lock_guard lock(mutex_);
          records_.push_back(record);
        });
    SACCADE_ASSERT_OK(started);
    server_ = std::move(*started);
  }

  void Hold(std::shared_ptr<Exchange> exchange) {
    const std::lock_guard lock(mutex_);
    held_.push_back(std::move(exchange));
  }
  std::shared_ptr<Exchange> TakeHeld() {
    std::shared_ptr<Exchange> taken;
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex_);
      if (held_.empty()) return false;
      taken = std::move(held_.front());
      held_.pop_front();
      return true;
    }));
    return taken;
  }
  std::vector<RequestRecord> Records() {
    const std::lock_guard lock(mutex_);
    return records_;
  }

  // What a connection answers to these bytes, and whether it is closed afterwards.
  ClientReply Raw(const std::string& bytes) {
    TestClient client(server_->port());
    client.Send(bytes);
    ClientReply reply = client.ReadReply();
    if (reply.Header("connection") == "close") {
      EXPECT_TRUE(client.EndsSilently());
    }
    return reply;
  }
  void ExpectRefused(const std::string& bytes, int status) {
    const ClientReply reply = Raw(bytes);
    EXPECT_EQ(reply.status, status) << bytes.substr(0, 200);
    EXPECT_EQ(reply.Header("connection"), "close") << bytes.substr(0, 200);
    SACCADE_ASSERT_OK_AND_ASSIGN(const Json body, ParseJson(reply.body));
    EXPECT_TRUE(body["error"]["message"].is_string());
  }

  std::mutex mutex_;
  std::deque<std::shared_ptr<Exchange>> held_;
  std::vector<RequestRecord> records_;
  RequestGate gate_;
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAndKeepsTheConnection) {
  StartServer();
  TestClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    const ClientReply reply = client.Get("/hello", "X-Request-Id: abc-1\r\n");
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.body, "hello");
    EXPECT_EQ(reply.Header("x-request-id"), "abc-1");
    EXPECT_EQ(reply.Header("x-content-type-options"), "nosniff");
    EXPECT_EQ(reply.Header("connection"), "");
  }
  const ClientReply made = client.Get("/hello", "X-Request-Id: bad id\"\r\n");
  EXPECT_EQ(made.Header("x-request-id").size(), 16u);
  EXPECT_EQ(client.Get("/name/a%20b/c?x=1").body, "a b/c");
  EXPECT_TRUE(Eventually([&] { return Records().size() == 5; }));
  EXPECT_EQ(Records()[0].pattern, "/hello");
  EXPECT_EQ(Records()[4].pattern, "/name/{name}");
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  StartServer();
  TestClient client(server_->port());
  std::string many;
  for (int i = 0; i < 50; ++i) {
    const std::string body = fmt::format("n{}", i);
    many += "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
            body;
  }
  client.Send(many);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.ReadReply().body, fmt::format("n{}", i));
}

TEST_F(HttpServerTest, ReadsARequestByteByByte) {
  StartServer();
  TestClient client(server_->port());
  const std::string request =
      "\r\nPOST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n4;x=y\r\nabcd\r\n1\r\ne\r\n0\r\nTrailer: t\r\n\r\n";
  for (const char c : request) client.Send(std::string(1, c));
  EXPECT_EQ(client.ReadReply().body, "abcde");
  EXPECT_EQ(client.Get("/hello").status, 200);
}

TEST_F(HttpServerTest, MethodsHeadAndOptions) {
  StartServer();
  TestClient client(server_->port());
  client.Send("HEAD /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  const ClientReply head = client.ReadReply(true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("content-length"), "5");
  client.Send("OPTIONS /echo HTTP/1.1\r\nHost: a\r\n\r\n");
  const ClientReply options = client.ReadReply();
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.Header("allow"), "POST, OPTIONS");
  EXPECT_EQ(options.Header("access-control-allow-origin"), "");
  client.Send("DELETE /hello HTTP/1.1\r\nHost: a\r\n\r\n");
  const ClientReply wrong = client.ReadReply();
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.Header("allow"), "GET, HEAD, OPTIONS");
  EXPECT_EQ(client.Get("/nothing").status, 404);
  EXPECT_EQ(client.Get("/hello").status, 200);
}

TEST_F(HttpServerTest, RefusesMalformedRequests) {
  StartServer();
  ExpectRefused("nonsense\r\n\r\n", 400);
  ExpectRefused("GET /hello\r\n\r\n", 400);
  ExpectRefused("GET /hello HTTP/1.1\r\n\r\n", 400);
  ExpectRefused("GET /hello HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400);
  ExpectRefused("GET /hello HTTP/1.1\r\nHost : a\r\n\r\n", 400);
  ExpectRefused("GET /hello HTTP/2.0\r\nHost: a\r\n\r\n", 505);
  ExpectRefused("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505);
  ExpectRefused("GET hello HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  ExpectRefused("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  ExpectRefused("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  ExpectRefused("GET /a\tb HTTP/1.1\r\nHost: a\r\n\r\n", 400);
  ExpectRefused("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: a-miracle\r\nContent-Length: 1\r\n\r\na", 417);
  ExpectRefused("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n", 414);
}

TEST_F(HttpServerTest, RefusesWhatCouldBeSmuggled) {
  StartServer();
  const std::string post = "POST /echo HTTP/1.1\r\nHost: a\r\n";
  ExpectRefused(post + "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400);
  ExpectRefused(post + "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400);
  ExpectRefused(post + "Content-Length: 3, 3\r\n\r\nabc", 400);
  ExpectRefused(post + "Content-Length: +3\r\n\r\nabc", 400);
  ExpectRefused(post + "Content-Length: -3\r\n\r\nabc", 400);
  ExpectRefused(post + "Content-Length: 0x3\r\n\r\nabc", 400);
  ExpectRefused(post + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: identity\r\n\r\nabc", 400);
  ExpectRefused(post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  ExpectRefused("POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", 400);
  ExpectRefused(post + "Transfer-Encoding: chunked\r\n\r\n1;" + std::string(200'000, 'x'), 400);
}

TEST_F(HttpServerTest, LimitsHeaderAndBody) {
  StartServer();
  ExpectRefused("GET /hello HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n", 431);
  ExpectRefused("GET /hello HTTP/1.1\r\nHost: a\r\nX: " + std::string(40'000, 'x'), 431);
  ExpectRefused(
      "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 100001\r\n\r\n" + std::string(100'001, 'x'), 413);
  ExpectRefused("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n", 413);
  std::string chunks;
  for (int i = 0; i < 11; ++i) chunks += "2710\r\n" + std::string(10'000, 'x') + "\r\n";
  ExpectRefused("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks, 413);
  TestClient client(server_->port());
  EXPECT_EQ(client.Post("/echo", std::string(100'000, 'x')).body.size(), 100'000u);
}

TEST_F(HttpServerTest, LimitsBodiesInFlight) {
  HttpServerOptions options;
  options.max_body_bytes_in_flight = 50'000;
  StartServer(options);
  TestClient holder(server_->port());
  holder.SendPost("/hold", std::string(40'000, 'x'));
  auto held = TakeHeld();
  TestClient second(server_->port());
  second.SendPost("/echo", std::string(40'000, 'x'));
  const ClientReply refused = second.ReadReply();
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.Header("retry-after"), "");
  held->Send(Text("done"));
  EXPECT_EQ(holder.ReadReply().body, "done");
  TestClient third(server_->port());
  EXPECT_TRUE(Eventually(
      [&] { return TestClient(server_->port()).Post("/echo", std::string(40'000, 'x')).status == 200; }));
}

TEST_F(HttpServerTest, ContinueIsSentBeforeTheBody) {
  StartServer();
  TestClient client(server_->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(client.ReadHead().status, 100);
  client.Send("abc");
  EXPECT_EQ(client.ReadReply().body, "abc");
  client.Send("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n");
  EXPECT_EQ(client.ReadHead().status, 413);
}

TEST_F(HttpServerTest, Http10) {
  StartServer();
  const ClientReply closed = Raw("GET /hello HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closed.body, "hello");
  EXPECT_EQ(closed.Header("connection"), "close");
  const ClientReply kept = Raw("GET /hello HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(kept.Header("connection"), "keep-alive");
  TestClient streaming(server_->port());
  streaming.Send("GET /hold HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  auto held = TakeHeld();
  held->StartStream(Text(""), {});
  held->Write("one ");
  held->Write("two");
  held->EndStream();
  const ClientReply reply = streaming.ReadReply();
  EXPECT_EQ(reply.body, "one two");
  EXPECT_EQ(reply.Header("transfer-encoding"), "");
}

TEST_F(HttpServerTest, SlowClientsAreCutOff) {
  HttpServerOptions options;
  options.header_timeout = milliseconds(100);
  options.idle_timeout = milliseconds(100);
  options.body_grace = milliseconds(100);
  StartServer(options);
  TestClient silent(server_->port());
  EXPECT_TRUE(silent.EndsSilently());
  TestClient idle(server_->port());
  EXPECT_EQ(idle.Get("/hello").status, 200);
  EXPECT_TRUE(idle.EndsSilently());
  TestClient slow_header(server_->port());
  slow_header.Send("GET /hello HTTP/1.1\r\nHos");
  EXPECT_EQ(slow_header.ReadReply().status, 408);
  EXPECT_TRUE(slow_header.EndsSilently());
  TestClient slow_body(server_->port());
  slow_body.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_EQ(slow_body.ReadReply().status, 408);
  EXPECT_TRUE(slow_body.EndsSilently());
}

TEST_F(HttpServerTest, ClientThatDoesNotReadIsCutOff) {
  HttpServerOptions options;
  options.write_timeout = milliseconds(100);
  StartServer(options);
  TestClient client(server_->port());
  for (int i = 0; i < 20; ++i) client.Send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(Eventually([&] { return !Records().empty() && Records().back().status == 499; }));
  EXPECT_TRUE(Eventually([&] { return server_->open_connections() == 0; }));
}

TEST_F(HttpServerTest, LargeAnswersArriveWhole) {
  StartServer();
  TestClient client(server_->port());
  EXPECT_EQ(client.Get("/big").body.size(), 3'000'000u);
  EXPECT_EQ(client.Get("/hello").body, "hello");
}

TEST_F(HttpServerTest, StreamsInOrderWithHeartbeats) {
  StartServer();
  TestClient client(server_->port());
  client.Send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  auto held = TakeHeld();
  held->StartStream(Text(""), {": ping\n\n", milliseconds(20)});
  EXPECT_EQ(client.ReadHead().Header("transfer-encoding"), "chunked");
  EXPECT_EQ(client.ReadChunk(), ": ping\n\n");
  for (int i = 0; i < 100; ++i) held->Write(fmt::format("n{};", i));
  held->EndStream();
  std::string all;
  while (!client.last_chunk_seen()) {
    const std::string chunk = client.ReadChunk();
    if (chunk != ": ping\n\n") all += chunk;
  }
  std::string expected;
  for (int i = 0; i < 100; ++i) expected += fmt::format("n{};", i);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(client.Get("/hello").status, 200);
}

TEST_F(HttpServerTest, ClientGoneIsNoticedBeforeAndDuringTheAnswer) {
  StartServer();
  for (const bool streaming : {false, true}) {
    TestClient client(server_->port());
    client.SendPost("/hold", "{}");
    auto held = TakeHeld();
    TestEvent gone;
    held->OnGone([&](GoneReason reason) {
      EXPECT_EQ(reason, GoneReason::kClientGone);
      gone.Set();
    });
    if (streaming) {
      held->StartStream(Text(""), {});
      held->Write("first");
      client.ReadHead();
      EXPECT_EQ(client.ReadChunk(), "first");
    }
    EXPECT_FALSE(held->gone());
    client.Close();
    EXPECT_TRUE(gone.Wait());
    EXPECT_TRUE(held->gone());
    bool called = false;  // late listeners hear of it at once
    held->OnGone([&](GoneReason) { called = true; });
    EXPECT_TRUE(called);
    if (streaming) held->Write("ignored");
  }
  EXPECT_TRUE(Eventually([&] { return Records().size() == 2; }));
  EXPECT_EQ(Records()[0].status, 499);
}

TEST_F(HttpServerTest, HandlersThatFailAnswer500) {
  SetLogSink([](std::string_view) {});
  StartServer();
  TestClient client(server_->port());
  EXPECT_EQ(client.Get("/throw").status, 500);
  EXPECT_EQ(client.Get("/throw-worker").status, 500);
  client.Send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  TakeHeld().reset();
  EXPECT_EQ(client.ReadReply().status, 500);
  EXPECT_EQ(client.Get("/hello").status, 200);
  SetLogSink(nullptr);
}

TEST_F(HttpServerTest, WorkersAreBounded) {
  HttpServerOptions options;
  options.port = 0;
  options.worker_threads = 1;
  options.max_queued_jobs = 1;
  Router router;
  TestEvent begun, go;
  router.Add({"GET", "/wait",
              [&](auto exchange) {
                begun.Set();
                go.Wait();
                exchange->Send(Text("done"));
              },
              true});
  auto server = HttpServer::Start(options, std::move(router), nullptr, nullptr);
  SACCADE_ASSERT_OK(server);
  TestClient running((*server)->port());
  running.Send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(begun.Wait());
  // One of the two waits, the other is refused, whichever is read first.
  TestClient a((*server)->port()), b((*server)->port());
  a.Send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  b.Send("GET /wait HTTP/1.1\r\nHost: a\r\n\r\n");
  auto reply_a = std::async(std::launch::async, [&] { return a.ReadReply().status; });
  auto reply_b = std::async(std::launch::async, [&] { return b.ReadReply().status; });
  const auto ready = [](auto& reply) { return reply.wait_for(milliseconds(0)) == std::future_status::ready; };
  EXPECT_TRUE(Eventually([&] { return ready(reply_a) || ready(reply_b); }));
  go.Set();
  EXPECT_EQ(reply_a.get() + reply_b.get(), 200 + 503);
  EXPECT_EQ(running.ReadReply().status, 200);
}

TEST_F(HttpServerTest, GateRefusesBeforeTheBody) {
  gate_ = [](const HttpRequest& request, const Route& route) -> std::optional<HttpResponse> {
    if (route.pattern != "/echo" || request.Header("x-pass") == "1") return std::nullopt;
    HttpResponse response = Text("gate");
    response.status = 401;
    return response;
  };
  StartServer();
  TestClient client(server_->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n");
  EXPECT_EQ(client.ReadReply().status, 401);
  TestClient allowed(server_->port());
  EXPECT_EQ(allowed.Post("/echo", "x", "X-Pass: 1\r\n").status, 200);
}

TEST_F(HttpServerTest, PagesOfOtherSitesAreRefusedUnlessAllowed) {
  StartServer();
  EXPECT_EQ(TestClient(server_->port()).Post("/echo", "x", "Sec-Fetch-Site: cross-site\r\n").status, 403);
  EXPECT_EQ(TestClient(server_->port()).Post("/echo", "x", "Sec-Fetch-Site: same-origin\r\n").status, 200);
  HttpServerOptions options;
  options.allow_origin = "https://a.example";
  StartServer(options);
  const std::string cross = "Sec-Fetch-Site: cross-site\r\nOrigin: ";
  EXPECT_EQ(TestClient(server_->port()).Post("/echo", "x", cross + "https://b.example\r\n").status, 403);
  const ClientReply reply = TestClient(server_->port()).Post("/echo", "x", cross + "https://a.example\r\n");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Header("access-control-allow-origin"), "https://a.example");
}

TEST_F(HttpServerTest, HoldsManyIdleConnections) {
  StartServer();
  std::vector<std::unique_ptr<TestClient>> idle;
  for (int i = 0; i < 200; ++i) {
    idle.push_back(std::make_unique<TestClient>(server_->port()));
    ASSERT_TRUE(idle.back()->connected());
  }
  EXPECT_TRUE(Eventually([&] { return server_->open_connections() == 200; }));
  TestClient busy(server_->port());
  EXPECT_EQ(busy.Get("/hello").status, 200);
  for (auto& client : idle) EXPECT_EQ(client->Get("/hello").status, 200);
  idle.clear();
  EXPECT_TRUE(Eventually([&] { return server_->open_connections() == 1; }));
}

TEST_F(HttpServerTest, ConnectionsAreLimited) {
  HttpServerOptions options;
  options.max_connections = 2;
  StartServer(options);
  TestClient a(server_->port()), b(server_->port());
  EXPECT_EQ(a.Get("/hello").status, 200);
  EXPECT_EQ(b.Get("/hello").status, 200);
  TestClient c(server_->port());
  EXPECT_EQ(c.ReadReply().status, 503);
}

TEST_F(HttpServerTest, DrainLetsRunningAnswersFinish) {
  StartServer();
  TestClient idle(server_->port());
  EXPECT_EQ(idle.Get("/hello").status, 200);
  TestClient client(server_->port());
  client.Send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  auto held = TakeHeld();
  auto drained = std::async(std::launch::async, [&] { server_->Drain(milliseconds(60'000)); });
  EXPECT_TRUE(idle.EndsSilently());
  EXPECT_FALSE(TestClient(server_->port()).connected());
  EXPECT_FALSE(held->gone());
  held->Send(Text("finished"));
  const ClientReply reply = client.ReadReply();
  EXPECT_EQ(reply.body, "finished");
  EXPECT_EQ(reply.Header("connection"), "close");
  client.Close();
  drained.wait();
}

TEST_F(HttpServerTest, DrainStopsHandlersAtTheTimeLimit) {
  StartServer();
  TestClient polite(server_->port()), stubborn(server_->port());
  polite.Send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  auto polite_held = TakeHeld();
  stubborn.Send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  auto stubborn_held = TakeHeld();
  polite_held->StartStream(Text(""), {});
  polite_held->OnGone([&](GoneReason reason) {
    EXPECT_EQ(reason, GoneReason::kServerStopping);
    polite_held->Write("stopped");
    polite_held->EndStream();
  });
  auto drained = std::async(std::launch::async, [&] { server_->Drain(milliseconds(60'000)); });
  EXPECT_TRUE(Eventually([&] { return server_->draining(); }));
  server_->AbortDrain();  // the second signal
  EXPECT_EQ(polite.ReadReply().body, "stopped");
  EXPECT_EQ(stubborn.ReadReply().status, 0);
  polite.Close();
  drained.wait();
  stubborn_held->Send(Text("too late"));
  stubborn_held->Post([] { ADD_FAILURE() << "nothing runs after the end"; });
}

TEST_F(HttpServerTest, StartErrorsSayWhatToDo) {
  StartServer();
  HttpServerOptions taken;
  taken.port = server_->port();
  EXPECT_THAT(HttpServer::Start(taken, Router(), nullptr, nullptr),
              testing::FailsWith(StatusCode::kUnavailable, HasSubstr("--port")));
  HttpServerOptions unknown;
  unknown.host = "no such host";
  EXPECT_THAT(HttpServer::Start(unknown, Router(), nullptr, nullptr),
              testing::FailsWith(StatusCode::kInvalidArgument, HasSubstr("no such host")));
  HttpServerOptions port;
  port.port = 70'000;
  EXPECT_THAT(HttpServer::Start(port, Router(), nullptr, nullptr),
              testing::FailsWith(StatusCode::kInvalidArgument, HasSubstr("70000")));
}

}  // namespace
}  // namespace saccade
