// Several choices, text completions, progress, stopping by id, and the routes that only count: over real
// sockets with a scripted backend.
#include <fmt/format.h>

#include "server/server_fixture.h"

namespace saccade {
namespace {

using std::chrono::milliseconds;
using testing::ClientReply;
using testing::Eventually;
using testing::FakeBackend;
using testing::FakeRun;
using ::testing::HasSubstr;
using testing::TestClient;

const std::string kChat = "/v1/chat/completions";

// `members` beside a plain message.
std::string ChatWith(const std::string& members) {
  return R"({"messages":[{"role":"user","content":"hi"}],)" + members + "}";
}

class AnswersTest : public testing::FakeServerTest {
 protected:
  // The data events of a stream but [DONE], which must come last.
  static std::vector<Json> Chunks(const std::string& body) {
    std::vector<Json> chunks;
    size_t from = 0, end;
    bool done = false;
    while ((end = body.find("\n\n", from)) != std::string::npos) {
      const std::string event = body.substr(from, end - from);
      EXPECT_FALSE(done);
      done = event == "data: [DONE]";
      if (!done && event.starts_with("data: ")) chunks.push_back(Parsed(event.substr(6)));
      from = end + 2;
    }
    EXPECT_TRUE(done);
    return chunks;
  }
  void ExpectError(const ClientReply& reply, int status, const Json& param) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(Parsed(reply.body)["error"]["param"], param) << reply.body;
  }
};

void SayChoice(FakeRun& run) {
  run.Text(fmt::format("answer {}", run.choice()));
  run.Finish(run.choice() == 1 ? FinishReason::kLength : FinishReason::kStop);
}

TEST_F(AnswersTest, SeveralChoicesInOneAnswer) {
  StartServer(SayChoice);
  const Json body = Parsed(Post(kChat, ChatWith(R"("n":3)")).body);
  ASSERT_EQ(body["choices"].size(), 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["message"]["content"], fmt::format("answer {}", i));
    EXPECT_EQ(body["choices"][i]["finish_reason"], i == 1 ? "length" : "stop");
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 210);  // once
  EXPECT_EQ(body["usage"]["prompt_tokens_details"]["cached_tokens"], 64);
  EXPECT_EQ(body["usage"]["completion_tokens"], 3);
}

TEST_F(AnswersTest, SeveralChoicesInOneStream) {
  StartServer(SayChoice);
  const auto chunks =
      Chunks(Post(kChat, ChatWith(R"("n":2,"stream":true,"stream_options":{"include_usage":true})")).body);
  ASSERT_EQ(chunks.size(), 5u);
  std::string texts[2], reasons[2];
  for (const Json& chunk : chunks) {
    EXPECT_EQ(chunk["id"], chunks[0]["id"]);
    if (chunk["choices"].empty()) continue;
    const Json& choice = chunk["choices"][0];
    const size_t index = choice["index"].get<size_t>();
    texts[index] += choice["delta"].value("content", "");
    if (choice["finish_reason"].is_string()) reasons[index] = choice["finish_reason"].get<std::string>();
  }
  EXPECT_EQ(texts[0], "answer 0");
  EXPECT_EQ(texts[1], "answer 1");
  EXPECT_EQ(reasons[0], "stop");
  EXPECT_EQ(reasons[1], "length");
  EXPECT_EQ(chunks[4]["usage"]["completion_tokens"], 2);
}

// The second choice finds the queue full: the first is taken back and one clean error is sent.
TEST_F(AnswersTest, ChoicesAreQueuedAllOrNone) {
  std::atomic<int> submits{0};
  StartServer([](FakeRun& run) {
    run.Text("early");
    EXPECT_TRUE(run.WaitForCancel(milliseconds(testing::kPatienceMs)));
    run.Finish(FinishReason::kCancelled);
  });
  backend_->on_submit = [&] { return ++submits == 2 ? ResourceExhausted("the queue is full") : OkStatus(); };
  for (const char* stream : {"false", "true"}) {
    submits = 0;
    ExpectError(Post(kChat, ChatWith(fmt::format(R"("n":3,"stream":{})", stream))), 429, nullptr);
    EXPECT_EQ(submits, 2);
    EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 0; }));
  }
}

TEST_F(AnswersTest, OneFailedChoiceEndsTheAnswerAndItsSiblings) {
  StartServer([](FakeRun& run) {
    if (run.choice() == 1) return run.Fail(Internal("a number is not finite"));
    EXPECT_TRUE(run.WaitForCancel(milliseconds(testing::kPatienceMs)));
    run.Finish(FinishReason::kCancelled);
  });
  ExpectError(Post(kChat, ChatWith(R"("n":2)")), 500, nullptr);
  EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 0; }));
}

TEST_F(AnswersTest, ProgressInChunksWhenAskedFor) {
  StartServer([](FakeRun& run) {
    run.Progress(ProgressEvent::Stage::kQueued, 2, 0);
    run.Progress(ProgressEvent::Stage::kVision, 3, 24);
    run.Text("a");
    run.Progress(ProgressEvent::Stage::kPrefill, 1, 2);  // computed again after it had begun
    run.Finish();
  });
  const auto chunks =
      Chunks(Post(kChat, ChatWith(R"("stream":true,"stream_options":{"include_progress":true})")).body);
  ASSERT_EQ(chunks.size(), 4u);
  EXPECT_EQ(chunks[0]["progress"], Json({{"stage", "queued"}, {"done", 2}, {"total", 0}}));
  EXPECT_EQ(chunks[1]["progress"], Json({{"stage", "encoding"}, {"done", 3}, {"total", 24}}));
  EXPECT_EQ(chunks[1]["choices"], Json::array());
  EXPECT_EQ(chunks[2]["choices"][0]["delta"]["content"], "a");
}

TEST_F(AnswersTest, StoppedById) {
  StartServer([](FakeRun& run) {
    run.Text("on and on");
    EXPECT_TRUE(run.WaitForCancel(milliseconds(testing::kPatienceMs)));
    run.Finish(FinishReason::kCancelled);
  });
  TestClient client(server_->port()), other(server_->port());
  // Streamed: the id is in every chunk.
  client.SendPost(kChat, ChatWith(R"("stream":true)"));
  client.ReadHead();
  const Json chunk = Parsed(client.ReadChunk().substr(6));
  const std::string id = chunk["id"].get<std::string>();
  other.Send("DELETE " + kChat + "/" + id + " HTTP/1.1\r\nHost: a\r\n\r\n");
  const ClientReply deleted = other.ReadReply();
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(Parsed(deleted.body),
            Json({{"id", id}, {"object", "chat.completion.deleted"}, {"deleted", true}}));
  EXPECT_EQ(Parsed(client.ReadChunk().substr(6))["error"]["code"], "cancelled");
  EXPECT_EQ(client.ReadChunk(), "");
  // Whole: by the id that the client gave its request.
  client.SendPost(kChat, ChatWith(R"("n":2)"), "x-request-id: mine\r\n");
  EXPECT_TRUE(Eventually([&] {
    other.Send("DELETE " + kChat + "/mine HTTP/1.1\r\nHost: a\r\n\r\n");
    return other.ReadReply().status == 200;
  }));
  EXPECT_EQ(client.ReadReply().status, 499);
  other.Send("DELETE " + kChat + "/mine HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(other.ReadReply().status, 404);
}

TEST_F(AnswersTest, AnswersOfOthersCannotBeStopped) {
  StartServer([](FakeRun& run) {
    EXPECT_TRUE(run.WaitForCancel(milliseconds(testing::kPatienceMs)));
    run.Finish(FinishReason::kCancelled);
  });
  TestClient client(server_->port()), other(server_->port());
  client.SendPost(kChat, ChatWith(R"("n":1)"), "x-request-id: mine\r\nAuthorization: Bearer a\r\n");
  EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 1; }));
  other.Send("DELETE " + kChat + "/mine HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer b\r\n\r\n");
  EXPECT_EQ(other.ReadReply().status, 404);
  EXPECT_TRUE(Eventually([&] {
    other.Send("DELETE " + kChat + "/mine HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\n\r\n");
    return other.ReadReply().status == 200;
  }));
  EXPECT_EQ(client.ReadReply().status, 499);
}

TEST_F(AnswersTest, TextCompletions) {
  StartServer(SayChoice);
  const ClientReply reply = Post("/v1/completions", R"({"prompt":["ab",[7,8,9]],"n":2})");
  const Json body = Parsed(reply.body);
  EXPECT_EQ(body["object"], "text_completion");
  EXPECT_TRUE(body["id"].get<std::string>().starts_with("cmpl-"));
  ASSERT_EQ(body["choices"].size(), 4u) << reply.body;
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(body["choices"][i]["index"], i);
    EXPECT_EQ(body["choices"][i]["text"], fmt::format("answer {}", i % 2));
  }
  EXPECT_EQ(body["usage"]["prompt_tokens"], 420);
  EXPECT_EQ(body["usage"]["completion_tokens"], 4);
  EXPECT_EQ(backend_->last_input().prompt_tokens, (std::vector<int32_t>{7, 8, 9}));
  EXPECT_EQ(backend_->last_input().options.max_tokens, 16);

  const auto chunks = Chunks(Post("/v1/completions", R"({"prompt":"ab","stream":true})").body);
  ASSERT_EQ(chunks.size(), 2u);
  EXPECT_EQ(chunks[0]["choices"][0]["text"], "answer 0");
  EXPECT_EQ(chunks[1]["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(backend_->last_input().prompt_tokens, (std::vector<int32_t>{'a', 'b'}));
}

TEST_F(AnswersTest, TextCompletionsReportLogprobsInColumns) {
  StartServer([](FakeRun& run) {
    for (const int32_t token : {3, 7, 4}) {
      TextEvent event;
      event.text = token == 7 ? "" : "x";
      event.logprobs = {{token, -0.5f, {{token, -0.5f}}}};
      run.Emit(event);
    }
    run.Finish();
  });
  const Json logprobs =
      Parsed(Post("/v1/completions", R"({"prompt":"ab","logprobs":1})").body)["choices"][0]["logprobs"];
  EXPECT_EQ(logprobs["tokens"], Json({"tok3", "\xEF\xBF\xBD", "tok4"}));
  EXPECT_EQ(logprobs["token_logprobs"], Json({-0.5, -0.5, -0.5}));
  EXPECT_EQ(logprobs["top_logprobs"][0], Json({{"tok3", -0.5}}));
  EXPECT_EQ(logprobs["text_offset"], Json({0, 4, 5}));
  EXPECT_EQ(backend_->last_input().options.top_logprobs, 1);
}

TEST_F(AnswersTest, TextCompletionsNameWhatIsWrong) {
  StartServer(SayChoice);
  const std::pair<const char*, Json> rows[] = {
      {R"({})", "prompt"},
      {R"({"prompt":""})", "prompt"},
      {R"({"prompt":[]})", "prompt"},
      {R"({"prompt":["a",""]})", "prompt[1]"},
      {R"({"prompt":[1,-1]})", "prompt"},
      {R"({"prompt":[1,2.5]})", "prompt"},
      {R"({"prompt":[["a"]]})", "prompt[0]"},
      {R"({"prompt":{"a":1}})", "prompt"},
      {R"({"prompt":["a","b","c"],"n":6})", "n"},
      {R"({"prompt":"a","echo":true})", "echo"},
      {R"({"prompt":"a","suffix":"x"})", "suffix"},
      {R"({"prompt":"a","best_of":2})", "best_of"},
      {R"({"prompt":"a","logprobs":21})", "logprobs"},
      {R"({"prompt":"a","max_tokens":0})", "max_tokens"},
  };
  for (const auto& [body, param] : rows) {
    SCOPED_TRACE(body);
    ExpectError(Post("/v1/completions", body), 400, param);
  }
  EXPECT_EQ(Post("/v1/completions", R"({"prompt":"a","echo":false,"suffix":"","best_of":1})").status, 200);
  EXPECT_EQ(Post("/v1/completions", R"({"prompt":"a","model":"other"})").status, 404);
}

TEST_F(AnswersTest, TokenizesBothWays) {
  StartServer(SayChoice);
  EXPECT_EQ(Parsed(Post("/tokenize", R"({"prompt":"AB"})").body),
            Json({{"count", 2}, {"max_model_len", 4096}, {"tokens", {65, 66}}}));
  EXPECT_EQ(Parsed(Post("/tokenize", R"({"prompt":"A","parse_special":true})").body)["count"], 2);
  const Json chat = Parsed(
      Post("/tokenize", R"({"messages":[{"role":"user","content":"x"}],"return_token_strs":true})").body);
  EXPECT_EQ(chat["tokens"], Json({5}));
  EXPECT_EQ(chat["token_strs"], Json({"tok5"}));
  EXPECT_EQ(Parsed(Post("/detokenize", R"({"tokens":[65,66]})").body), Json({{"prompt", "AB"}}));
  ExpectError(Post("/tokenize", "{}"), 400, "prompt");
  ExpectError(Post("/tokenize", R"({"prompt":"a","messages":[{"role":"user","content":"x"}]})"), 400,
              "prompt");
  ExpectError(Post("/tokenize", R"({"prompt":3})"), 400, "prompt");
  ExpectError(Post("/tokenize", "[]"), 400, nullptr);
  ExpectError(Post("/detokenize", R"({"tokens":["a"]})"), 400, "tokens");
  ExpectError(Post("/detokenize", R"({"tokens":[99999999999]})"), 400, "tokens");
  ExpectError(Post("/detokenize", R"({"tokens":3})"), 400, "tokens");
}

TEST_F(AnswersTest, EstimatesWithoutRunning) {
  StartServer([](FakeRun&) { ADD_FAILURE() << "an estimate ran the request"; });
  const Json body =
      Parsed(Post("/v1/estimate",
                  R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":"YQ=="}]}],
      "max_tokens":7,"n":2,"auto_fit":true})")
                 .body);
  EXPECT_EQ(body["prompt_tokens"], 210);
  EXPECT_EQ(body["image_tokens"], 196);
  EXPECT_EQ(body["max_completion_tokens"], 7);
  EXPECT_EQ(body["pictures"][0]["resized"], Json({{"width", 448}, {"height", 448}}));
  EXPECT_EQ(body["memory_bytes"], Json({{"kv_cache", 2 << 20}, {"pictures", 1 << 21}}));
  backend_->on_prepare = [](const ChatInput& input) {
    EXPECT_FALSE(input.auto_fit);
    return InvalidArgument("not a picture").WithParam("pictures[0]");
  };
  ExpectError(Post("/v1/estimate",
                   R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":"YQ=="}]}]})"),
              400, "messages[0].content[0].image_url");
}

TEST_F(AnswersTest, ATimeoutEndsTheAnswer) {
  StartServer([](FakeRun& run) {
    run.Text("slow");
    EXPECT_TRUE(run.WaitForCancel(milliseconds(testing::kPatienceMs)));
    run.Finish(FinishReason::kCancelled);
  });
  ExpectError(Post(kChat, ChatWith(R"("timeout":0.05)")), 504, "timeout");
  TestClient client(server_->port());
  const ClientReply streamed =
      client.Post(kChat, ChatWith(R"("stream":true)"), "x-request-timeout: 0.05\r\n");
  EXPECT_EQ(streamed.status, 200);
  EXPECT_THAT(streamed.body, HasSubstr("\"deadline_exceeded\""));
  EXPECT_EQ(client.Get("/healthz").status, 200);  // the connection is kept
  EXPECT_TRUE(Eventually([&] { return backend_->Stats().running == 0; }));
}

TEST_F(AnswersTest, ATimeoutThatIsLongEnoughChangesNothing) {
  StartServer(SayChoice);
  EXPECT_EQ(Post(kChat, ChatWith(R"("timeout":60)")).status, 200);
  for (const char* wrong : {"0", "-1", "\"5\"", "1e9"}) {
    ExpectError(Post(kChat, ChatWith(fmt::format(R"("timeout":{})", wrong))), 400, "timeout");
  }
  for (const char* wrong : {"0", "soon", "5s", "nan"}) {
    ExpectError(TestClient(server_->port())
                    .Post(kChat, ChatWith(R"("n":1)"), fmt::format("x-request-timeout: {}\r\n", wrong)),
                400, "x-request-timeout");
  }
}

TEST_F(AnswersTest, ATimeoutThatPassesWhilePreparingIsNoDisconnect) {
  StartServer(SayChoice);
  backend_->on_prepare = [](const ChatInput&) {
    std::this_thread::sleep_for(milliseconds(100));
    return OkStatus();
  };
  ExpectError(Post(kChat, ChatWith(R"("timeout":0.02)")), 504, "timeout");
}

TEST_F(AnswersTest, ATimeoutThatCannotBeMetIsRefusedAtOnce) {
  StartServer([](FakeRun& run) {
    for (int i = 0; i < 5; ++i) run.Text("x");
    FinishedEvent event;
    event.usage = {.prompt_tokens = 210, .completion_tokens = 5};
    event.timings.prefill = 2000;
    event.timings.decode = 5000;
    run.Emit(event);
  });
  EXPECT_EQ(Post(kChat, ChatWith(R"("timeout":3)")).status, 200);  // nothing is known yet
  const ClientReply refused = Post(kChat, ChatWith(R"("timeout":3)"));
  ExpectError(refused, 429, "timeout");
  EXPECT_EQ(refused.Header("retry-after"), "1");
  EXPECT_EQ(Post(kChat, ChatWith(R"("timeout":30)")).status, 200);
  EXPECT_EQ(Post(kChat, ChatWith(R"("n":1)")).status, 200);
}

TEST_F(AnswersTest, AFullQueueRefusesBeforeTheBodyIsRead) {
  StartServer(SayChoice);
  backend_->max_waiting = 2;
  backend_->waiting = 2;
  TestClient client(server_->port());
  client.Send("POST " + kChat + " HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n{");
  const ClientReply reply = client.ReadReply();
  ExpectError(reply, 429, nullptr);
  EXPECT_EQ(reply.Header("retry-after"), "1");
  backend_->waiting = 0;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Post(kChat, ChatWith(R"("n":1)")).status, 200);  // places come back
  for (int i = 0; i < 5; ++i) EXPECT_EQ(Post(kChat, "{").status, 400);
  EXPECT_EQ(Post(kChat, ChatWith(R"("n":1)")).status, 200);
}

}  // namespace
}  // namespace saccade
