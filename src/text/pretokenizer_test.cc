#include "text/pretokenizer.h"

#include "base/status_testing.h"
#include "text/regex_dialect.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The pattern of the published tokenizer.
constexpr const char* kPublished =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| "
    "?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|"
    "\\s+(?!\\S)|\\s+";

Json Description(const std::vector<std::string>& patterns) {
  Json steps = Json::array();
  for (const std::string& pattern : patterns) {
    steps.push_back(
        {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}});
  }
  steps.push_back({{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}});
  return {{"type", "Sequence"}, {"pretokenizers", steps}};
}

std::vector<std::string> Pieces(const std::vector<std::string>& patterns, std::string_view text) {
  const auto splitter = PreTokenizer::Parse(Description(patterns));
  EXPECT_TRUE(splitter.ok()) << splitter.status().ToString();
  std::vector<std::string> pieces;
  if (splitter.ok()) splitter->Split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  return pieces;
}

TEST(PreTokenizer, SplitsLikeThePublishedPattern) {
  EXPECT_THAT(Pieces({kPublished}, ""), IsEmpty());
  EXPECT_THAT(Pieces({kPublished}, "Hello, world! 123"),
              ElementsAre("Hello", ",", " world", "!", " ", "1", "2", "3"));
  EXPECT_THAT(Pieces({kPublished}, "don't I'LL 'tis"), ElementsAre("don", "'t", " I", "'LL", " '", "tis"));
  EXPECT_THAT(Pieces({kPublished}, "a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(Pieces({kPublished}, "a \r\n\n b\t"), ElementsAre("a", " \r\n\n", " b", "\t"));
  EXPECT_THAT(Pieces({kPublished}, "x...\n\ny"), ElementsAre("x", "...\n\n", "y"));
}

TEST(PreTokenizer, FollowsUnicode16AndWhiteSpaceOfTheReference) {
  // U+3000 is White_Space, U+180E is not.
  EXPECT_THAT(Pieces({"\\s+|\\S+"}, "a\xE3\x80\x80z"), ElementsAre("a", "\xE3\x80\x80", "z"));
  EXPECT_THAT(Pieces({"\\s+|\\S+"}, "a\xE1\xA0\x8Ez"), ElementsAre("a\xE1\xA0\x8Ez"));
  // U+31350 (an ideograph of Unicode 15) is a letter, U+1E5F1 (Unicode 16) a number.
  EXPECT_THAT(Pieces({"\\p{L}+|[^\\p{L}]+"}, "a\xF0\xB1\x8D\x90-"), ElementsAre("a\xF0\xB1\x8D\x90", "-"));
  EXPECT_THAT(Pieces({"[\\p{N}]+|\\P{N}+"}, "a\xF0\x9E\x97\xB1"), ElementsAre("a", "\xF0\x9E\x97\xB1"));
  // U+017F folds to "s".
  EXPECT_THAT(Pieces({"(?i:'s)"}, "a'\xC5\xBF-"), ElementsAre("a", "'\xC5\xBF", "-"));
}

TEST(PreTokenizer, StepsFollowOneAnother) {
  EXPECT_THAT(Pieces({}, "any thing"), ElementsAre("any thing"));
  EXPECT_THAT(Pieces({"\\p{N}{1,3}", "[a-z]+"}, "ab1234-cd"), ElementsAre("ab", "123", "4", "-", "cd"));
  EXPECT_THAT(Pieces({"x*"}, "axxb\xC3\xA9"),
              ElementsAre("a", "xx", "b\xC3\xA9"));  // empty matches cut nothing
}

// Exponential backtracking stops at the match limit; what is left becomes one piece.
TEST(PreTokenizer, HostilePatternsEnd) {
  const std::string text = std::string(200, 'a') + "b";
  EXPECT_THAT(Pieces({"(a|a)*c"}, text), ElementsAre(text));
}

TEST(PreTokenizer, RefusesOtherKinds) {
  const auto kUnsupported = StatusCode::kUnsupported;
  const auto refused = [&](Json description, const char* reason) {
    EXPECT_THAT(PreTokenizer::Parse(description), FailsWith(kUnsupported, HasSubstr(reason)));
  };
  refused(Json(), "no pre-tokenizer");
  refused({{"type", "Sequence"}, {"pretokenizers", Json::array()}}, "is empty");
  refused({{"type", "Metaspace"}}, "\"Metaspace\"");
  refused({{"type", "ByteLevel"}, {"add_prefix_space", false}}, "use_regex");
  refused({{"type", "ByteLevel"}, {"use_regex", false}}, "add_prefix_space");
  Json description = Description({"a"});
  description["pretokenizers"][0]["behavior"] = "Removed";
  refused(description, "behavior Isolated");
  description["pretokenizers"][0]["behavior"] = "Isolated";
  description["pretokenizers"][0]["invert"] = true;
  refused(description, "inverted");
  description = Description({"a"});
  description["pretokenizers"][0]["pattern"] = {{"String", "a"}};
  refused(description, "Regex pattern");
  description["pretokenizers"][0] = {{"type", "Digits"}};
  refused(description, "\"Digits\"");
  refused(Description({"a("}), "does not compile");
}

TEST(TranslatePattern, RewritesAndRefuses) {
  EXPECT_EQ(*TranslatePattern("a\\s[\\S-]\\.\\\\s"), "a\\p{White_Space}[\\P{White_Space}-]\\.\\\\s");
  EXPECT_EQ(*TranslatePattern("\\p{Lu}[^\\r\\n]"), "\\p{Lu}[^\\r\\n]");
  EXPECT_EQ(TranslatePattern("\\p{L}")->substr(0, 16), "[\\p{L}\\x{1C89}-\\");
  EXPECT_EQ(TranslatePattern("[a\\p{L}]")->substr(0, 17), "[a\\p{L}\\x{1C89}-\\");
  for (const char* pattern : {"\\w", "\\b", "\\h", "\\x41", "[a&&b]", "[[:alpha:]]", "[]a]", "[\\P{L}]"}) {
    EXPECT_THAT(TranslatePattern(pattern), FailsWith(StatusCode::kUnsupported, HasSubstr("not supported")))
        << pattern;
  }
  EXPECT_THAT(TranslatePattern("a\\"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("backslash")));
  EXPECT_THAT(TranslatePattern("[a"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("not closed")));
  EXPECT_THAT(TranslatePattern(std::string(5000, 'a')),
              FailsWith(StatusCode::kUnsupported, HasSubstr("5000 bytes")));
}

}  // namespace
}  // namespace saccade
