// Documents in requests over real sockets: pages as pictures, questions asked page by page.
#include <fmt/format.h>

#include <atomic>

#include "base/base64.h"
#include "documents/document_testing.h"
#include "server/page_prompts.h"
#include "server/server_fixture.h"

namespace saccade {
namespace {

using testing::ClientReply;
using testing::FakeBackend;
using testing::FakeRun;
using ::testing::HasSubstr;
using testing::PdfOfLines;
using testing::TestClient;

std::string Pdf(int pages) {
  std::vector<std::string> lines;
  for (int i = 1; i <= pages; ++i) lines.push_back(fmt::format("line {}", i));
  const std::string pdf = PdfOfLines(lines);
  return EncodeBase64(std::as_bytes(std::span(pdf)));
}

std::string FilePart(const std::string& base64, const std::string& more = "") {
  return R"({"type":"file","file":{"filename":"r.pdf","file_data":"data:application/pdf;base64,)" + base64 +
         "\"}" + more + "}";
}

class DocumentsTest : public testing::FakeServerTest {
 protected:
  void Start(FakeBackend::Script script) {
    ServerOptions options;
    options.documents.max_pages = 5;
    options.max_pictures = 4;
    StartServer(std::move(script), options);
  }
  ClientReply Ask(const std::string& part, const std::string& more = "") {
    return Post("/v1/chat/completions", R"({"messages":[{"role":"user","content":[)" + part +
                                            R"(,{"type":"text","text":"How much?"}]}])" + more + "}");
  }
  static Json MessageOf(const ClientReply& reply) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    return Json::parse(reply.body)["choices"][0]["message"];
  }
  static Json ErrorOf(const ClientReply& reply) { return Json::parse(reply.body)["error"]; }
};

void Say(FakeRun& run) {
  run.Text("fine");
  run.Finish();
}

TEST_F(DocumentsTest, PagesBecomePicturesWithHeadingsAndText) {
  Start(Say);
  MessageOf(Ask(FilePart(Pdf(4), R"(,"pages":"2,4")"), R"(,"documents":{"text":true,"dpi":72})"));
  const ChatInput input = backend_->last_input();
  ASSERT_EQ(input.pictures.size(), 2u);
  EXPECT_EQ(input.pictures[1].page, 4);
  const auto& parts = input.conversation.messages[0].parts;
  ASSERT_EQ(parts.size(), 7u);
  EXPECT_EQ(parts[0].text, "r.pdf, page 2:\n");
  EXPECT_EQ(parts[1].kind, ContentPart::Kind::kImage);
  EXPECT_THAT(parts[2].text, HasSubstr("line 2"));
  EXPECT_EQ(parts[3].text, "r.pdf, page 4:\n");
  EXPECT_EQ(parts[6].text, "How much?");
  SACCADE_ASSERT_OK_AND_ASSIGN(const ImageInfo info, ProbeImage(*input.pictures[0].bytes));
  EXPECT_EQ(info.width, 200);
  EXPECT_EQ(info.height, 100);
}

TEST_F(DocumentsTest, RefusalsNameThePart) {
  Start(Say);
  Json error = ErrorOf(Ask(FilePart(Pdf(9))));
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("9 pages are asked for, the limit is 5"));
  EXPECT_EQ(error["param"], "messages[0].content[0].file.file_data.pages");
  EXPECT_EQ(
      MessageOf(Ask(FilePart(Pdf(9)), R"(,"documents":{"too_many":"truncate","max_pages":2})"))["content"],
      "fine");
  EXPECT_EQ(backend_->last_input().pictures.size(), 2u);
  error = ErrorOf(Ask(FilePart(Pdf(5))));
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("page_by_page"));
  error = ErrorOf(Ask(FilePart(Pdf(1), R"(,"pages":"7")")));
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("no page 7"));
  error = ErrorOf(Ask(FilePart(Pdf(1)), R"(,"documents":{"mode":"upside_down"})"));
  EXPECT_EQ(error["param"], "documents.mode");
  error = ErrorOf(Ask(FilePart("JVBERi0xLjQK")));
  EXPECT_EQ(error["code"], "invalid_argument");
  EXPECT_THAT(error["message"].get<std::string>(), HasSubstr("damaged"));
}

TEST_F(DocumentsTest, TheOnePageThatAnswersIsCited) {
  std::atomic<int> runs{0};
  // The first page is queued before all others.
  Start([&](FakeRun& run) {
    run.Text(runs++ == 0 ? "42." : "Not on this page.");
    run.Finish();
  });
  const Json message =
      MessageOf(Ask(FilePart(Pdf(3), R"(,"pages":"3")"), R"(,"documents":{"mode":"page_by_page"})"));
  EXPECT_EQ(message["content"], "42. [page 3]");
  EXPECT_EQ(message["citations"], Json::parse(R"([{"page":3,"document":"r.pdf"}])"));
  EXPECT_EQ(message["page_answers"][0]["text"], "42.");
}

TEST_F(DocumentsTest, SeveralAnswersAreCombinedByTheModel) {
  std::atomic<int> runs{0};
  Start([&](FakeRun& run) {
    const int index = runs++;
    run.Text(index < 5 ? fmt::format("v{}", index) : "Both [page 2] and [page 4].");
    run.Finish();
  });
  const ClientReply reply = Ask(FilePart(Pdf(5)), R"(,"documents":{"mode":"page_by_page"})");
  const Json message = MessageOf(reply);
  EXPECT_EQ(runs, 6);
  EXPECT_EQ(message["content"], "Both [page 2] and [page 4].");
  ASSERT_EQ(message["citations"].size(), 2u);
  EXPECT_EQ(message["citations"][1]["page"], 4);
  EXPECT_EQ(message["page_answers"].size(), 5u);
  EXPECT_EQ(Json::parse(reply.body)["usage"]["prompt_tokens"], 6 * 210);
  const std::string prompt = backend_->last_input().conversation.messages[0].parts[0].text;
  EXPECT_THAT(prompt, HasSubstr("Question: How much?"));
  EXPECT_THAT(prompt, HasSubstr("[page 5] v"));
  EXPECT_TRUE(backend_->last_input().pictures.empty());
}

TEST_F(DocumentsTest, AFailingPageFailsTheRequestAndAListNeedsNoModel) {
  std::atomic<int> runs{0};
  Start([&](FakeRun& run) {
    if (runs++ < 2) {
      run.Text("same");
      run.Finish();
    } else {
      run.Fail(Internal("broken"));
    }
  });
  EXPECT_EQ(
      MessageOf(Ask(FilePart(Pdf(2)), R"(,"documents":{"mode":"page_by_page","combine":"list"})"))["content"],
      "[page 1] same\n[page 2] same");
  EXPECT_EQ(Ask(FilePart(Pdf(3)), R"(,"documents":{"mode":"page_by_page"})").status, 500);
}

TEST_F(DocumentsTest, AClientThatGoesStopsThePages) {
  std::atomic<int> cancelled{0};
  Start([&](FakeRun& run) {
    if (run.WaitForCancel(std::chrono::seconds(30))) ++cancelled;
    run.Finish(FinishReason::kCancelled);
  });
  {
    TestClient client(server_->port());
    client.SendPost(
        "/v1/chat/completions",
        R"({"stream":true,"documents":{"mode":"page_by_page"},"messages":[{"role":"user","content":[)" +
            FilePart(Pdf(5)) + "]}]}");
    EXPECT_EQ(client.ReadHead().status, 200);
    EXPECT_TRUE(testing::Eventually([&] { return backend_->Stats().running >= 4; }));
  }
  EXPECT_TRUE(testing::Eventually([&] { return cancelled >= 4 && backend_->Stats().running == 0; }));
}

TEST(PagePrompts, CitationsAreWholePageNumbers) {
  std::vector<PageAnswer> answers = {{"", 1, "a", 1, true, false}, {"", 13, "b", 1, true, false}};
  EXPECT_EQ(MarkCitations("It is b [page 13].", answers), "");
  EXPECT_FALSE(answers[0].cited);
  EXPECT_TRUE(answers[1].cited);
  EXPECT_EQ(MarkCitations("It is b.", answers), " [page 1] [page 13]");
  answers[1].document = "x.pdf";
  EXPECT_EQ(MarkCitations("[x.pdf, page 13]", answers), "");
}

TEST(PagePrompts, WhatIsAnAnswer) {
  for (const char* text : {"", " \n", ".", "NOT ON THIS PAGE", "Not on this page.", "\xE3\x80\x82"}) {
    EXPECT_FALSE(IsAnswer(text)) << text;
  }
  for (const char* text : {"7", "A red star.", "\xE7\xBA\xA2\xE8\x89\xB2\xE3\x80\x82"})
    EXPECT_TRUE(IsAnswer(text)) << text;
}

}  // namespace
}  // namespace saccade
