#include "text/normalizer.h"

#include <utf8proc.h>

#include "base/status_testing.h"
#include "base/utf8.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

std::string Text(std::initializer_list<char32_t> code_points) {
  std::string text;
  for (const char32_t c : code_points) AppendUtf8(c, text);
  return text;
}

TEST(Normalizer, Composes) {
  EXPECT_EQ(ToNfc(""), "");
  EXPECT_EQ(ToNfc("plain"), "plain");
  EXPECT_EQ(ToNfc(Text({'e', 0x301})), Text({0xE9}));
  EXPECT_EQ(ToNfc(Text({'q', 0x307, 0x323})), Text({'q', 0x323, 0x307}));         // marks are put in order
  EXPECT_EQ(ToNfc(Text({0x212B, 0x2126, 0x2000})), Text({0xC5, 0x3A9, 0x2002}));  // singletons
  EXPECT_EQ(ToNfc(Text({0x1100, 0x1161, 0x11A8})), Text({0xAC01}));               // Hangul
  EXPECT_EQ(ToNfc(Text({0x958})), Text({0x915, 0x93C}));                          // composition exclusion
  EXPECT_EQ(ToNfc(Text({0x304B, 0x3099})), Text({0x304C}));
}

TEST(Normalizer, FollowsTheReferenceWhereLibrariesDiffer) {
  EXPECT_EQ(ToNfc(Text({0xAC1C, 0x11A7, 'x'})), Text({0xAC1C, 0x11A7, 'x'}));
  EXPECT_EQ(ToNfc(Text({'x', 0x323, 0x9FE, 0x301, 0x316})), Text({'x', 0x323, 0x9FE, 0x316, 0x301}));
  EXPECT_EQ(ToNfc(Text({0x11935, 0x11930})), Text({0x11935, 0x11930}));
}

// The quick test may only let pass what normalisation leaves alone, in every context.
TEST(Normalizer, QuickTestIsSafe) {
  std::vector<bool> composes_with_predecessor(0x110000, false);
  for (int32_t c = 0; c < 0x110000; ++c) {
    int32_t parts[16];
    int boundary = 0;
    const auto count = utf8proc_decompose_char(c, parts, 16, UTF8PROC_COMPOSE, &boundary);
    if (count > 1) composes_with_predecessor[parts[count - 1]] = true;
  }
  for (char32_t c = 0; c < 0x110000; ++c) {
    if ((c >= 0xD800 && c < 0xE000) || !IsSurelyNfc(Text({c}))) continue;
    ASSERT_EQ(utf8proc_get_property(static_cast<int32_t>(c))->combining_class, 0) << std::hex << uint32_t{c};
    ASSERT_FALSE(composes_with_predecessor[c]) << std::hex << uint32_t{c};
    // The mark forces the slow path; it composes with none of these.
    ASSERT_EQ(ToNfc(Text({0x1161, 0x20E3, c})), Text({0x1161, 0x20E3, c})) << std::hex << uint32_t{c};
  }
}

// A million marks in the worst order: quadratic sorting would take hours.
TEST(Normalizer, LongRunsOfMarks) {
  std::string text, expected;
  for (int i = 0; i < 300000; ++i) AppendUtf8(0x301, text);
  for (int i = 0; i < 300000; ++i) AppendUtf8(0x316, text);
  for (int i = 0; i < 300000; ++i) AppendUtf8(0x316, expected);
  for (int i = 0; i < 300000; ++i) AppendUtf8(0x301, expected);
  EXPECT_TRUE(ToNfc(text) == expected);
}

TEST(Normalizer, ReadsTheDescription) {
  EXPECT_EQ(*ParseNormalizer(Json()), Normalization::kNone);
  EXPECT_EQ(*ParseNormalizer({{"type", "NFC"}}), Normalization::kNfc);
  EXPECT_EQ(*ParseNormalizer({{"type", "Sequence"}, {"normalizers", Json::array()}}), Normalization::kNone);
  EXPECT_EQ(*ParseNormalizer({{"type", "Sequence"}, {"normalizers", Json::array({{{"type", "NFC"}}})}}),
            Normalization::kNfc);
  EXPECT_THAT(ParseNormalizer({{"type", "NFKC"}}),
              FailsWith(StatusCode::kUnsupported, HasSubstr("\"NFKC\"")));
  EXPECT_THAT(ParseNormalizer(Json("NFC")), FailsWith(StatusCode::kInvalidArgument, HasSubstr("object")));
}

}  // namespace
}  // namespace saccade
