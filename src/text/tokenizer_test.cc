#include "text/tokenizer.h"

#include "base/status_testing.h"
#include "text/tokenizer_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Encoded;
using ::saccade::testing::FailsWith;
using ::saccade::testing::SmallTokenizerJson;
using ::saccade::testing::Spell;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using AddedTokens = Tokenizer::AddedTokens;

Tokenizer Small(const std::vector<std::pair<std::string, std::string>>& merges = {}) {
  auto tokenizer = Tokenizer::Parse(SmallTokenizerJson(merges).dump());
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
  return std::move(tokenizer).value();
}

TEST(Tokenizer, MergesByRankThenFromTheLeft) {
  const Tokenizer tokenizer = Small({{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"a", "a"}});
  EXPECT_THAT(Encoded(tokenizer, "abc"), ElementsAre(258));  // bc first, then a + bc
  EXPECT_THAT(Encoded(tokenizer, "abab"), ElementsAre(257, 257));
  EXPECT_THAT(Encoded(tokenizer, "aaa"), ElementsAre(259, 'a'));
  EXPECT_THAT(Encoded(tokenizer, "ab c"), ElementsAre(257, ' ', 'c'));  // pieces are merged one by one
  EXPECT_THAT(Encoded(tokenizer, ""), IsEmpty());
}

TEST(Tokenizer, ShortAndLongPiecesAgree) {
  const Tokenizer tokenizer =
      Small({{"a", "b"}, {"ab", "ab"}, {"b", "a"}, {"abab", "abab"}, {"b", "b"}, {"a", "bb"}});
  std::string text;
  uint32_t state = 1;
  for (int i = 0; i < 40; ++i) {
    state = state * 1664525 + 1013904223;
    text += (state >> 24) % 2 == 0 ? 'a' : 'b';
  }
  // Behind a long run that merges only with itself, the same letters must give the same ids.
  const std::string run(100, 'z');
  const auto alone = Encoded(tokenizer, text);
  auto behind = Encoded(tokenizer, run + text);
  ASSERT_EQ(behind.size(), 100 + alone.size());
  behind.erase(behind.begin(), behind.begin() + 100);
  EXPECT_EQ(behind, alone);
}

TEST(Tokenizer, NormalisesToNfc) {
  const Tokenizer tokenizer = Small();
  EXPECT_EQ(Encoded(tokenizer, "e\xCC\x81"), Encoded(tokenizer, "\xC3\xA9"));
  Json json = SmallTokenizerJson();
  json["normalizer"] = nullptr;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer raw, Tokenizer::Parse(json.dump()));
  EXPECT_THAT(Encoded(raw, "e\xCC\x81"), ElementsAre('e', 0xCC, 0x81));
}

TEST(Tokenizer, InvalidUtf8BecomesReplacementCharacters) {
  const Tokenizer tokenizer = Small();
  EXPECT_THAT(Encoded(tokenizer, "a\xFFz"), ElementsAre('a', 0xEF, 0xBF, 0xBD, 'z'));
  EXPECT_THAT(Encoded(tokenizer, "\xE4\xB8"), ElementsAre(0xEF, 0xBF, 0xBD));
}

TEST(Tokenizer, RecognisesAddedTokensOnlyWhenAsked) {
  const Tokenizer tokenizer = Small();
  const std::string text = "<think>x<|im_end|>";
  EXPECT_THAT(Encoded(tokenizer, text, AddedTokens::kAll), ElementsAre(262, 'x', 257));
  const auto non_special = Encoded(tokenizer, text, AddedTokens::kNonSpecial);
  EXPECT_EQ(non_special.size(), 2 + std::string("<|im_end|>").size());
  EXPECT_EQ(non_special.front(), 262);
  EXPECT_EQ(Encoded(tokenizer, text, AddedTokens::kNone).size(), text.size());
  EXPECT_THAT(Encoded(tokenizer, "<|im_<|im_end|>", AddedTokens::kAll),
              ElementsAre('<', '|', 'i', 'm', '_', 257));
}

TEST(Tokenizer, TheLongestAddedTokenWins) {
  Json json = SmallTokenizerJson();
  json["added_tokens"].push_back({{"id", 300}, {"content", "<think>ing"}});
  json["added_tokens"].push_back({{"id", 301}, {"content", "<th"}});
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Parse(json.dump()));
  EXPECT_THAT(Encoded(tokenizer, "<think>ing<think>i<thin", AddedTokens::kAll),
              ElementsAre(300, 262, 'i', 301, 'i', 'n'));
  EXPECT_EQ(tokenizer.vocab_size(), 302);
  EXPECT_EQ(tokenizer.TokenBytes(290), "");
}

TEST(Tokenizer, LooksUpTokens) {
  const Tokenizer tokenizer = Small({{" ", "a"}, {"\xE4", "\xB8"}});
  EXPECT_EQ(tokenizer.IdOf(" a"), 256);
  EXPECT_EQ(tokenizer.IdOf("\xE4\xB8"), 257);
  EXPECT_EQ(tokenizer.IdOf("<|im_end|>"), 259);
  EXPECT_EQ(tokenizer.IdOf("ab"), std::nullopt);
  EXPECT_EQ(tokenizer.IdOf(""), std::nullopt);
  EXPECT_EQ(tokenizer.TokenBytes(256), " a");
  EXPECT_EQ(tokenizer.TokenBytes(257), "\xE4\xB8");
  EXPECT_EQ(tokenizer.TokenBytes(-1), "");
  EXPECT_EQ(tokenizer.TokenBytes(1 << 30), "");
  EXPECT_TRUE(tokenizer.IsSpecial(259));
  EXPECT_FALSE(tokenizer.IsSpecial(264));  // <think>
  EXPECT_FALSE(tokenizer.IsSpecial(-1));
  EXPECT_FALSE(tokenizer.IsSpecial(1 << 30));
  EXPECT_EQ(tokenizer.vocab_size(), 268);
}

TEST(Tokenizer, Decodes) {
  const Tokenizer tokenizer = Small({{"h", "i"}});
  const std::vector<int32_t> ids = {257, 256, 0xE4, 0xB8, 0x96, 258, 0xFF, -5, 100000, 0xE4};
  EXPECT_EQ(tokenizer.Decode(ids, false), "<|im_start|>hi\xE4\xB8\x96<|im_end|>\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(tokenizer.Decode(ids, true), "hi\xE4\xB8\x96\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(Tokenizer, ReadsMergesAsPairsToo) {
  Json json = SmallTokenizerJson({{"a", "b"}});
  json["model"]["merges"] = Json::array({Json::array({"a", "b"})});
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Parse(json.dump()));
  EXPECT_THAT(Encoded(tokenizer, "ab"), ElementsAre(256));
}

TEST(Tokenizer, IgnoreMergesTakesWholeTokens) {
  Json json = SmallTokenizerJson({{"b", "c"}, {"a", "b"}});
  json["model"]["vocab"]["abc"] = 400;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer merged, Tokenizer::Parse(json.dump()));
  EXPECT_THAT(Encoded(merged, "abc"), ElementsAre('a', 256));
  json["model"]["ignore_merges"] = true;
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer whole, Tokenizer::Parse(json.dump()));
  EXPECT_THAT(Encoded(whole, "abc"), ElementsAre(400));
}

TEST(Tokenizer, DefaultConstructedIsEmpty) {
  const Tokenizer tokenizer;
  EXPECT_THAT(Encoded(tokenizer, "a", AddedTokens::kAll), IsEmpty());
  EXPECT_EQ(tokenizer.vocab_size(), 0);
  EXPECT_EQ(tokenizer.IdOf("a"), std::nullopt);
}

// Applies an RFC 7396 patch to the small tokenizer and expects a refusal.
void ExpectRefused(const char* patch, StatusCode code, const char* reason) {
  Json json = SmallTokenizerJson({{"a", "b"}});
  json.merge_patch(Json::parse(patch));
  EXPECT_THAT(Tokenizer::Parse(json.dump()), FailsWith(code, HasSubstr(reason))) << patch;
}

TEST(Tokenizer, RefusesWhatItDoesNotSupport) {
  const auto kUnsupported = StatusCode::kUnsupported;
  ExpectRefused(R"({"model": {"type": "Unigram"}})", kUnsupported, "\"Unigram\"");
  ExpectRefused(R"({"model": {"dropout": 0.1}})", kUnsupported, "dropout");
  ExpectRefused(R"({"model": {"byte_fallback": true}})", kUnsupported, "byte_fallback");
  ExpectRefused(R"({"model": {"end_of_word_suffix": "</w>"}})", kUnsupported, "end_of_word_suffix");
  ExpectRefused(R"({"normalizer": {"type": "Lowercase"}})", kUnsupported, "\"Lowercase\"");
  ExpectRefused(R"({"decoder": null})", kUnsupported, "no decoder");
  ExpectRefused(R"({"decoder": {"type": "WordPiece"}})", kUnsupported, "\"WordPiece\"");
  ExpectRefused(R"({"post_processor": {"type": "TemplateProcessing"}})", kUnsupported,
                "\"TemplateProcessing\"");
  ExpectRefused(R"({"pre_tokenizer": null})", kUnsupported, "no pre-tokenizer");
  ExpectRefused(R"({"pre_tokenizer": {"type": "Whitespace", "pretokenizers": null}})", kUnsupported,
                "\"Whitespace\"");
  ExpectRefused(R"({"added_tokens": [{"id": 400, "content": "x", "lstrip": true}]})", kUnsupported, "lstrip");
  ExpectRefused(R"({"added_tokens": [{"id": 400, "content": "x", "single_word": true}]})", kUnsupported,
                "single_word");
  ExpectRefused(R"({"added_tokens": [{"id": 400, "content": "\u00e9", "normalized": true}]})", kUnsupported,
                "ASCII");
}

TEST(Tokenizer, RefusesBrokenFiles) {
  const auto kInvalid = StatusCode::kInvalidArgument;
  ExpectRefused(R"({"model": null})", kInvalid, "\"model\" is missing");
  ExpectRefused(R"({"model": {"vocab": null}})", kInvalid, "model.vocab is missing");
  ExpectRefused(R"({"model": {"vocab": {"a": "b"}}})", kInvalid, "model.vocab must map");
  ExpectRefused(R"({"model": {"vocab": {"xy": -1}}})", kInvalid, "token id -1");
  ExpectRefused(R"({"model": {"vocab": {"xy": 97}}})", kInvalid, "given twice");
  ExpectRefused(R"({"model": {"merges": ["ab"]}})", kInvalid, "model.merges[0] must be two tokens");
  ExpectRefused(R"({"model": {"merges": [["a"]]}})", kInvalid, "model.merges[0] has 1 parts");
  ExpectRefused(R"({"model": {"merges": [["a", "b", "c"]]}})", kInvalid, "has 3 parts");
  ExpectRefused(R"({"model": {"merges": ["a c"]}})", kInvalid, "not in model.vocab");
  ExpectRefused(R"({"model": {"merges": [7]}})", kInvalid, "model.merges must hold");
  ExpectRefused(R"({"added_tokens": [{"id": 97, "content": "<x>"}]})", kInvalid, "added token \"<x>\"");
  EXPECT_THAT(Tokenizer::Parse("{"), FailsWith(kInvalid, HasSubstr("invalid JSON at byte")));
  EXPECT_THAT(Tokenizer::Parse("[]"), FailsWith(kInvalid, HasSubstr("object")));
  EXPECT_THAT(Tokenizer::Load("/nonexistent/tokenizer.json"),
              FailsWith(StatusCode::kNotFound, HasSubstr("tokenizer.json")));
  Json json = SmallTokenizerJson();
  json["model"]["vocab"].erase(Spell("\n"));
  EXPECT_THAT(Tokenizer::Parse(json.dump()),
              FailsWith(StatusCode::kUnsupported, HasSubstr("no token for byte 0x0A")));
}

// Cutting the file anywhere must give an error, not a crash.
TEST(Tokenizer, TruncatedFilesAreRefused) {
  const std::string text = SmallTokenizerJson({{"a", "b"}}).dump();
  for (size_t length = 0; length < text.size(); length += 7)
    EXPECT_FALSE(Tokenizer::Parse(text.substr(0, length)).ok());
}

}  // namespace
}  // namespace saccade
