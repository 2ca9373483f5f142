#include "server/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace saccade {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(Http, PercentDecoding) {
  EXPECT_EQ(PercentDecode("/a%20b%2F%e4%BD%a0"), "/a b/\xE4\xBD\xA0");
  EXPECT_EQ(PercentDecode("%"), std::nullopt);
  EXPECT_EQ(PercentDecode("%4"), std::nullopt);
  EXPECT_EQ(PercentDecode("%4g"), std::nullopt);
  EXPECT_EQ(PercentDecode("a%00"), std::nullopt);
  EXPECT_EQ(PercentDecode("+"), "+");
}

TEST(Http, HeadersCannotBeSplit) {
  HttpResponse response;
  response.body = "12345";
  response.headers.emplace_back("x-test", "a\r\nset-cookie: b\n\nc");
  ResponseFraming framing;
  framing.request_id = "id";
  const std::string head = SerializeResponseHead(response, framing);
  EXPECT_THAT(head, AllOf(StartsWith("HTTP/1.1 200 OK\r\n"), HasSubstr("\r\nx-test: aset-cookie: bc\r\n"),
                          HasSubstr("\r\ncontent-length: 5\r\n"), EndsWith("\r\n\r\n"),
                          Not(HasSubstr("connection"))));
}

TEST(Http, FramingOfStreamsAndEmptyAnswers) {
  ResponseFraming framing;
  framing.chunked = true;
  EXPECT_THAT(SerializeResponseHead({}, framing),
              AllOf(HasSubstr("transfer-encoding: chunked"), Not(HasSubstr("content-length"))));
  framing.http10 = true;
  framing.keep_alive = false;
  EXPECT_THAT(SerializeResponseHead({}, framing),
              AllOf(Not(HasSubstr("chunked")), HasSubstr("connection: close")));
  HttpResponse nothing;
  nothing.status = 204;
  ResponseFraming bare;
  bare.no_content_header = true;
  EXPECT_THAT(SerializeResponseHead(nothing, bare), Not(HasSubstr("content-length")));
  EXPECT_EQ(EncodeChunk(std::string(26, 'x')), "1a\r\n" + std::string(26, 'x') + "\r\n");
}

TEST(Http, RequestIds) {
  EXPECT_EQ(RequestIdFrom("abc-1_2.3:4"), "abc-1_2.3:4");
  EXPECT_NE(RequestIdFrom("a b"), "a b");
  EXPECT_NE(RequestIdFrom(std::string(129, 'a')).size(), 129u);
  EXPECT_NE(RequestIdFrom(""), RequestIdFrom(""));
}

TEST(Http, HeaderLookupIgnoresCase) {
  HttpRequest request;
  request.headers = {{"Content-Type", "a"}, {"X-Y", "b"}};
  EXPECT_EQ(request.Header("content-type"), "a");
  EXPECT_EQ(request.Header("x-y"), "b");
  EXPECT_EQ(request.Header("x"), "");
}

}  // namespace
}  // namespace saccade
