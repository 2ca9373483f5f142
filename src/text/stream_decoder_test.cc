#include "text/stream_decoder.h"

#include <random>

#include "base/status_testing.h"
#include "base/utf8.h"
#include "text/tokenizer_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::SmallTokenizerJson;

TEST(StreamDecoder, HoldsUnfinishedCharactersBack) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Parse(SmallTokenizerJson().dump()));
  StreamDecoder decoder(tokenizer);
  EXPECT_EQ(decoder.Push('a'), "a");
  EXPECT_EQ(decoder.Push(0xF0), "");
  EXPECT_EQ(decoder.Push(0x9F), "");
  EXPECT_EQ(decoder.Push(0x99), "");
  EXPECT_EQ(decoder.pending_bytes(), 3U);
  EXPECT_EQ(decoder.Push(0x82), "\xF0\x9F\x99\x82");
  EXPECT_EQ(decoder.Push(0xE4), "");
  EXPECT_EQ(decoder.Push('b'),
            "\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(decoder.Push(0xFF), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.Push(0xC3), "");
  EXPECT_EQ(decoder.Flush(), "\xEF\xBF\xBD");
  EXPECT_EQ(decoder.Flush(), "");
}

TEST(StreamDecoder, SkipsSpecialTokensWhenAsked) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer, Tokenizer::Parse(SmallTokenizerJson().dump()));
  const int32_t end = *tokenizer.IdOf("<|im_end|>");
  EXPECT_EQ(StreamDecoder(tokenizer, true).Push(end), "");
  EXPECT_EQ(StreamDecoder(tokenizer, false).Push(end), "<|im_end|>");
  EXPECT_EQ(StreamDecoder(tokenizer, true).Push(*tokenizer.IdOf("<think>")), "<think>");
}

// Whatever ids a model emits, the stream says what Decode says.
TEST(StreamDecoder, EqualsDecodeForAnyIds) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const Tokenizer tokenizer,
                               Tokenizer::Load(SACCADE_TEST_DATA "/golden/qwen3_tokenizer.json"));
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const bool skip_special = random() % 2 == 0;
    // Mostly single bytes and short ids: those cut characters apart.
    const int limit = round % 3 == 0 ? 256 : round % 3 == 1 ? 1000 : tokenizer.vocab_size() + 100;
    StreamDecoder decoder(tokenizer, skip_special);
    std::vector<int32_t> ids;
    std::string streamed;
    for (int i = 0; i < 50; ++i) {
      ids.push_back(static_cast<int32_t>(random() % static_cast<unsigned>(limit)));
      const std::string text = decoder.Push(ids.back());
      ASSERT_TRUE(IsValidUtf8(text));
      ASSERT_LE(decoder.pending_bytes(), 3U);
      streamed += text;
    }
    streamed += decoder.Flush();
    ASSERT_EQ(streamed, tokenizer.Decode(ids, skip_special));
  }
}

}  // namespace
}  // namespace saccade
