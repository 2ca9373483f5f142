#include "base/base64.h"

#include <cctype>
#include <cstring>
#include <random>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

std::span<const std::byte> Bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string Decoded(std::string_view text) {
  const auto bytes = DecodeBase64(text);
  if (!bytes.ok()) return bytes.status().ToString();
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

TEST(Base64, VectorsOfRfc4648) {
  const std::pair<const char*, const char*> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(EncodeBase64(Bytes(plain)), encoded);
    EXPECT_EQ(Decoded(encoded), plain);
  }
}

TEST(Base64, AcceptsWhatClientsSend) {
  EXPECT_EQ(Decoded("Zg"), "f");
  EXPECT_EQ(Decoded("Zm8"), "fo");
  EXPECT_EQ(Decoded(" Z m\r\n9\tv Yg = = \n"), "foob");
  EXPECT_EQ(Decoded("-_-_"), Decoded("+/+/"));
  EXPECT_EQ(Decoded("+_-/"), Decoded("+/+/"));
  EXPECT_EQ(Decoded("  \n"), "");
}

TEST(Base64, RefusesEverythingElseWithThePlace) {
  EXPECT_THAT(DecodeBase64("Zm9v*mFy"),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("(0x2A) at position 4")));
  EXPECT_THAT(DecodeBase64("data:"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("position 4")));
  EXPECT_THAT(DecodeBase64("\xC3\xA9"),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("(0xC3) at position 0")));
  EXPECT_THAT(DecodeBase64("Zg==Zg=="), FailsWith(StatusCode::kInvalidArgument, HasSubstr("after padding")));
  EXPECT_THAT(DecodeBase64("Zg==="), FailsWith(StatusCode::kInvalidArgument, HasSubstr("misplaced padding")));
  EXPECT_THAT(DecodeBase64("Zm9v="), FailsWith(StatusCode::kInvalidArgument, HasSubstr("misplaced padding")));
  EXPECT_THAT(DecodeBase64("Z==="), FailsWith(StatusCode::kInvalidArgument, HasSubstr("misplaced padding")));
  EXPECT_THAT(DecodeBase64("Zg="), FailsWith(StatusCode::kInvalidArgument, HasSubstr("incomplete")));
  EXPECT_THAT(DecodeBase64("Zm9vY"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("left-over")));
  EXPECT_THAT(DecodeBase64(std::string_view("Zm\0v", 4)),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("position 2")));
}

TEST(Base64, RoundTripsWithNoiseBetween) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    for (size_t i = 0, n = random() % 70; i < n; ++i) bytes += static_cast<char>(random());
    std::string text = EncodeBase64(Bytes(bytes));
    EXPECT_EQ(Decoded(text), bytes);
    EXPECT_LE(bytes.size(), Base64DecodedBound(text.size()));
    if (random() % 2 == 0) text.erase(text.find_last_not_of('=') + 1);
    for (int i = 0; i < 5; ++i) text.insert(random() % (text.size() + 1), 1, " \n\t"[random() % 3]);
    ASSERT_EQ(Decoded(text), bytes);
  }
}

}  // namespace
}  // namespace saccade
