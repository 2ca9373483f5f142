#include "server/multipart.h"

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

constexpr std::string_view kType = "multipart/form-data; boundary=\"-x-\"";

TEST(MultipartTest, ReadsFieldsFilesAndEmptyParts) {
  const std::string body =
      "---x-\r\nContent-Disposition: form-data; name=\"question\"\r\n\r\nWhat is\r\n--this?\r\n"
      "---x- \r\ncontent-type: IMAGE/png\r\ncontent-disposition: form-data; filename=\"a \\\"b\\\".png\"; "
      "name=image\r\n"
      "\r\n\x89PNG\r\n\r\n"
      "---x-\r\nContent-Disposition: form-data; name=\"empty\"\r\n\r\n\r\n---x---\r\n";
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto parts, ParseMultipart(kType, body, 3));
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].name, "question");
  EXPECT_EQ(parts[0].filename, "");
  EXPECT_EQ(parts[0].bytes, "What is\r\n--this?");
  EXPECT_EQ(parts[1].name, "image");
  EXPECT_EQ(parts[1].filename, "a \"b\".png");
  EXPECT_EQ(parts[1].content_type, "image/png");
  EXPECT_EQ(parts[2].name, "empty");
  EXPECT_EQ(parts[2].bytes, "");
  EXPECT_THAT(ParseMultipart(kType, body, 2), FailsWith(StatusCode::kTooLarge, HasSubstr("2 parts")));
}

TEST(MultipartTest, EveryCutIsRefused) {
  const std::string body =
      "---x-\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\n---x-\r\n"
      "Content-Disposition: form-data; name=\"b\"\r\n\r\ntwo\r\n---x---";
  SACCADE_ASSERT_OK(ParseMultipart(kType, body, 9));
  for (size_t cut = 0; cut < body.size(); ++cut) {
    EXPECT_THAT(ParseMultipart(kType, body.substr(0, cut), 9),
                FailsWith(StatusCode::kInvalidArgument, HasSubstr("multipart")))
        << cut;
  }
}

TEST(MultipartTest, NamelessPartsAndMissingBoundariesAreRefused) {
  EXPECT_THAT(ParseMultipart("multipart/form-data", "--\r\n\r\n", 9),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("boundary")));
  EXPECT_THAT(ParseMultipart(kType, "---x-\r\n\r\nv\r\n---x---", 9),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("name")));
  EXPECT_TRUE(IsMultipart("Multipart/Form-Data; boundary=a"));
  EXPECT_FALSE(IsMultipart("application/json"));
}

}  // namespace
}  // namespace saccade
