#include "base/utf8.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace saccade {
namespace {

using Kind = Utf8Step::Kind;

std::string Encode(char32_t code_point) {
  std::string text;
  AppendUtf8(code_point, text);
  return text;
}

TEST(Utf8, EncodesEveryLength) {
  EXPECT_EQ(Encode('A'), "A");
  EXPECT_EQ(Encode(0xE9), "\xC3\xA9");
  EXPECT_EQ(Encode(0x4E16), "\xE4\xB8\x96");
  EXPECT_EQ(Encode(0x1F642), "\xF0\x9F\x99\x82");
  EXPECT_EQ(Encode(0xD800), "\xEF\xBF\xBD");
  EXPECT_EQ(Encode(0x110000), "\xEF\xBF\xBD");
}

TEST(Utf8, DecodesWhatItEncodes) {
  for (char32_t code_point = 0; code_point <= 0x10FFFF; ++code_point) {
    if (code_point >= 0xD800 && code_point < 0xE000) continue;
    const std::string text = Encode(code_point);
    const Utf8Step step = DecodeUtf8(text, 0);
    ASSERT_EQ(step.kind, Kind::kValid);
    ASSERT_EQ(step.length, text.size());
    ASSERT_EQ(step.code_point, code_point);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      const Utf8Step part = DecodeUtf8(std::string_view(text).substr(0, cut), 0);
      ASSERT_EQ(part.kind, Kind::kIncomplete);
      ASSERT_EQ(part.length, cut);
    }
  }
}

TEST(Utf8, RefusesWhatIsNotUtf8) {
  EXPECT_EQ(DecodeUtf8("", 0).kind, Kind::kIncomplete);
  EXPECT_EQ(DecodeUtf8("", 0).length, 0);
  struct Case {
    const char* bytes;
    int length;  // of the maximal subpart
  };
  for (const Case& c : {Case{"\x80", 1},
                        {"\xBF", 1},
                        {"\xC0\x80", 1},
                        {"\xC1\xBF", 1},
                        {"\xC3(", 1},
                        {"\xE0\x80\x80", 1},
                        {"\xED\xA0\x80", 1},
                        {"\xE4\xB8(", 2},
                        {"\xF0\x80\x80\x80", 1},
                        {"\xF0\x9F\x99(", 3},
                        {"\xF4\x90\x80\x80", 1},
                        {"\xF5\x80", 1},
                        {"\xFF", 1}}) {
    const Utf8Step step = DecodeUtf8(c.bytes, 0);
    EXPECT_EQ(step.kind, Kind::kInvalid) << c.bytes;
    EXPECT_EQ(step.length, c.length) << c.bytes;
    EXPECT_FALSE(IsValidUtf8(c.bytes));
  }
}

TEST(Utf8, ValidPrefix) {
  EXPECT_EQ(ValidUtf8Prefix(""), 0U);
  EXPECT_EQ(ValidUtf8Prefix("0123456789abcdef"), 16U);
  EXPECT_EQ(ValidUtf8Prefix("0123456789\xE4\xB8\x96\xE4\xB8"), 13U);
  EXPECT_EQ(ValidUtf8Prefix("0123456\xFF"), 7U);
  EXPECT_TRUE(IsValidUtf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, ReplacesMaximalSubparts) {
  EXPECT_EQ(ReplaceInvalidUtf8("plain"), "plain");
  // The example of the Unicode standard, table 3-8: 61 F1 80 80 E1 80 C2 62 80 63 80 BF 64.
  EXPECT_EQ(ReplaceInvalidUtf8("a\xF1\x80\x80\xE1\x80\xC2"
                               "b\x80"
                               "c\x80\xBF"
                               "d"),
            "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\xEF\xBF\xBD"
            "c\xEF\xBF\xBD\xEF\xBF\xBD"
            "d");
  EXPECT_EQ(ReplaceInvalidUtf8("x\xF0\x9F\x99"), "x\xEF\xBF\xBD");
  EXPECT_EQ(ReplaceInvalidUtf8("\xED\xA0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Utf8, DrainKeepsUnfinishedSequences) {
  std::string pending = "a\xE4\xB8";
  std::string out;
  DrainUtf8(pending, out);
  EXPECT_EQ(out, "a");
  EXPECT_EQ(pending, "\xE4\xB8");
  pending += "\x96";
  DrainUtf8(pending, out);
  EXPECT_EQ(out, "a\xE4\xB8\x96");
  EXPECT_EQ(pending, "");
}

// However the bytes are cut, a drained stream says the same as the whole.
TEST(Utf8, DrainingInPiecesEqualsTheWhole) {
  std::mt19937 random(7);
  const std::vector<uint8_t> interesting = {'a',  0x80, 0xBF, 0xC3, 0xE0, 0xA0,
                                            0xE4, 0xED, 0xF0, 0x90, 0xF4, 0xFF};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 24; ++i) text += static_cast<char>(interesting[random() % interesting.size()]);
    std::string pending;
    std::string out;
    for (size_t pos = 0; pos < text.size();) {
      const size_t take = 1 + random() % 3;
      pending += text.substr(pos, take);
      pos += take;
      DrainUtf8(pending, out);
      ASSERT_LE(pending.size(), 3U);
      ASSERT_TRUE(IsValidUtf8(out));
    }
    if (!pending.empty()) AppendUtf8(kReplacementCharacter, out);
    ASSERT_EQ(out, ReplaceInvalidUtf8(text));
  }
}

}  // namespace
}  // namespace saccade
