#include "text/stop.h"

#include <random>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

StopMatcher Make(std::vector<std::string> strings) {
  auto matcher = StopMatcher::Make(std::move(strings));
  EXPECT_TRUE(matcher.ok()) << matcher.status().ToString();
  return std::move(matcher).value();
}

TEST(StopMatcher, HoldsPossibleBeginningsBack) {
  StopMatcher matcher = Make({"STOP", "\n\n"});
  EXPECT_EQ(matcher.Push("abc"), "abc");
  EXPECT_EQ(matcher.Push("deS"), "de");
  EXPECT_EQ(matcher.Push("T"), "");
  EXPECT_EQ(matcher.Push("x"), "STx");
  EXPECT_EQ(matcher.Push("y\n"), "y");
  EXPECT_EQ(matcher.Push("ST"), "\n");
  EXPECT_FALSE(matcher.matched());
  EXPECT_EQ(matcher.Push("OP and more"), "");
  EXPECT_EQ(matcher.match(), 0);
  EXPECT_EQ(matcher.Push("never"), "");
  EXPECT_EQ(matcher.Flush(), "");
}

TEST(StopMatcher, ReleasesTheTextBeforeAMatch) {
  StopMatcher matcher = Make({"b"});
  EXPECT_EQ(matcher.Push("aaabaaab"), "aaa");
  EXPECT_TRUE(matcher.matched());
}

TEST(StopMatcher, FirstCompleteThenLongest) {
  StopMatcher shorter = Make({"abcd", "bc"});
  EXPECT_EQ(shorter.Push("xabcd"), "xa");
  EXPECT_EQ(shorter.match(), 1);
  StopMatcher longer = Make({"bc", "abc"});
  EXPECT_EQ(longer.Push("xabcd"), "x");
  EXPECT_EQ(longer.match(), 1);
}

TEST(StopMatcher, OverlappingBeginnings) {
  StopMatcher matcher = Make({"aab"});
  EXPECT_EQ(matcher.Push("aaaa"), "aa");
  EXPECT_EQ(matcher.Push("b"), "");
  EXPECT_TRUE(matcher.matched());
}

TEST(StopMatcher, FlushReturnsWhatWasHeld) {
  StopMatcher matcher = Make({"\xE4\xB8\x96\xE7\x95\x8C"});
  EXPECT_EQ(matcher.Push("a\xE4\xB8\x96"), "a");
  EXPECT_EQ(matcher.Flush(), "\xE4\xB8\x96");
  EXPECT_EQ(StopMatcher().Push("anything"), "anything");
}

TEST(StopMatcher, RefusesBadStrings) {
  EXPECT_EQ(StopMatcher::Make({"a", ""}).status().param(), "stop[1]");
  EXPECT_THAT(StopMatcher::Make({std::string(1025, 'x')}),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("1025 bytes")));
  EXPECT_THAT(StopMatcher::Make(std::vector<std::string>(17, "x")),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("17 stop strings")));
}

// The definition, on the whole text: the match that ends first, among those the longest.
std::string Expected(const std::string& text, const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); ++end) {
    size_t longest = 0;
    for (const std::string& stop : stops) {
      const bool here = stop.size() <= end && text.compare(end - stop.size(), stop.size(), stop) == 0;
      if (here) longest = std::max(longest, stop.size());
    }
    if (longest > 0) return text.substr(0, end - longest);
  }
  return text;
}

TEST(StopMatcher, AnyCutGivesTheSameText) {
  std::mt19937 random(13);
  const auto letters = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += "aab"[random() % 3];
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops;
    for (size_t i = 0, n = 1 + random() % 3; i < n; ++i) stops.push_back(letters(1 + random() % 7));
    const std::string text = letters(random() % 40);
    StopMatcher matcher = Make(stops);
    std::string out;
    for (size_t pos = 0; pos < text.size();) {
      const size_t take = 1 + random() % 4;
      out += matcher.Push(std::string_view(text).substr(pos, take));
      // Never more than what is certain.
      ASSERT_EQ(out, Expected(text, stops).substr(0, out.size()));
      pos += take;
    }
    out += matcher.Flush();
    ASSERT_EQ(out, Expected(text, stops));
  }
}

}  // namespace
}  // namespace saccade
