// The published tokenizer against ids and texts recorded from the reference implementation.
#include <fstream>
#include <random>
#include <thread>

#include "base/json.h"
#include "base/status_testing.h"
#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/tokenizer_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::Encoded;
using ::testing::ElementsAreArray;
using AddedTokens = Tokenizer::AddedTokens;

const std::string kGolden = SACCADE_TEST_DATA "/golden/";

class PublishedTokenizer : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto loaded = Tokenizer::Load(kGolden + "qwen3_tokenizer.json");
    ASSERT_TRUE(loaded.ok()) << loaded.status().ToString();
    tokenizer_ = new Tokenizer(std::move(loaded).value());
  }
  static void TearDownTestSuite() { delete tokenizer_; }

  static const Tokenizer* tokenizer_;
};
const Tokenizer* PublishedTokenizer::tokenizer_ = nullptr;

TEST_F(PublishedTokenizer, IdsAndTextsOfAllVectors) {
  EXPECT_EQ(tokenizer_->vocab_size(), 151669);
  std::ifstream file(kGolden + "tokenizer_qwen3.jsonl");
  std::string line;
  int vectors = 0;
  while (std::getline(file, line)) {
    SACCADE_ASSERT_OK_AND_ASSIGN(const Json vector, ParseJson(line));
    const auto ids = Encoded(*tokenizer_, vector["text"].get<std::string>(), AddedTokens::kAll);
    ASSERT_EQ(ids, vector["ids"].get<std::vector<int32_t>>()) << line;
    ASSERT_EQ(tokenizer_->Decode(ids, false), vector["decoded"].get<std::string>()) << line;
    ++vectors;
  }
  EXPECT_EQ(vectors, 1913);
}

// Texts for which a straightforward use of PCRE2 and utf8proc gives other ids; recorded with tokenizers
// 0.23.3.
TEST_F(PublishedTokenizer, CornersOfUnicode) {
  const std::pair<const char*, std::vector<int32_t>> vectors[] = {
      {"a\xE1\xA0\x8E\x62", {64, 123970, 236, 65}},
      {"it'\xC5\xBF IT'S", {275, 6, 144815, 8700, 13272}},
      {"\xEA\xB0\x9C\xE1\x86\xA7x", {59761, 124137, 100, 87}},
      {"\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", {126317}},
      {"x\xCC\xA3\xE0\xA7\xBE\xCC\x81\xCC\x96", {87, 136, 96, 26927, 122, 136, 244, 53839}},
      {"\xF0\x91\xA4\xB5\xF0\x91\xA4\xB0", {128240, 97, 113, 128240, 97, 108}},
      {"\xE4\xB8\xAD\xF0\xB1\x8D\x90\xE3\x80\x82\xF0\x9E\x97\xB1",
       {15946, 172, 109, 235, 238, 1773, 172, 252, 245, 109}},
      {"\xE2\x84\xAB\xE2\x84\xA6\xE2\x80\x80", {144044, 144572, 378, 224}},
      {"\xE0\xA5\x98\xCD\x84", {64704, 5502, 120, 136, 230, 53839}},
      {"<|im_start|><|im_start|user|>", {151644, 27, 91, 318, 4906, 91, 872, 91, 29}},
      {"<think></thin</think>", {151667, 522, 63671, 151668}},
      {"a  b   c\n \n  d\t\te", {64, 220, 293, 256, 272, 26809, 220, 294, 197, 7727}},
      {"x\xC2\x85y\xC2\xA0z\xE3\x80\x80w", {87, 126, 227, 88, 4102, 89, 22441, 86}}};
  for (const auto& [text, ids] : vectors) {
    EXPECT_THAT(Encoded(*tokenizer_, text, AddedTokens::kAll), ElementsAreArray(ids)) << text;
  }
}

TEST_F(PublishedTokenizer, TypedMarksAreText) {
  for (const char* mark : {"<|im_start|>", "<|im_end|>", "<|image_pad|>", "<tool_call>", "<think>"}) {
    const int32_t id = *tokenizer_->IdOf(mark);
    EXPECT_THAT(Encoded(*tokenizer_, mark, AddedTokens::kAll), ElementsAreArray({id}));
    const auto ids = Encoded(*tokenizer_, mark, AddedTokens::kNone);
    EXPECT_GT(ids.size(), 1U);
    for (const int32_t part : ids) EXPECT_LT(part, 151643);
    EXPECT_EQ(tokenizer_->Decode(ids, true), mark);
  }
}

// One megabyte without a natural border; time that grows faster than n log n would be noticed here.
TEST_F(PublishedTokenizer, HostileMegabytes) {
  constexpr size_t kBytes = size_t{1} << 20;
  std::mt19937 random(5);
  std::string ideographs, bytes, latin, marks;
  while (ideographs.size() < kBytes) AppendUtf8(0x4E00 + random() % 20902, ideographs);
  while (bytes.size() < kBytes) bytes += static_cast<char>(random());
  while (latin.size() < kBytes) AppendUtf8(random() % 256, latin);
  for (size_t i = 0; i < kBytes / 4; ++i) AppendUtf8(0x301, marks);
  for (size_t i = 0; i < kBytes / 4; ++i) AppendUtf8(0x316, marks);
  std::string almost_marks;
  while (almost_marks.size() < kBytes) almost_marks += "<|im_start|";
  for (const std::string& text : {std::string(kBytes, 'a'), std::string(kBytes, ' '),
                                  std::string(kBytes, '<'), ideographs, bytes, latin, marks, almost_marks}) {
    const auto ids = Encoded(*tokenizer_, text, AddedTokens::kAll);
    EXPECT_TRUE(tokenizer_->Decode(ids, false) == ToNfc(ReplaceInvalidUtf8(text)));
  }
  EXPECT_EQ(Encoded(*tokenizer_, std::string(kBytes, ' ')).size(), 8192U);
  EXPECT_EQ(Encoded(*tokenizer_, std::string(kBytes, 'a')).size(), 131072U);
}

TEST_F(PublishedTokenizer, SeveralThreadsShareIt) {
  const std::string text =
      "The same text, \xE5\x9C\xA8\xE6\xAF\x8F\xE4\xB8\xAA thread: 12 e\xCC\x81 " + std::string(200, 'x');
  const auto expected = Encoded(*tokenizer_, text, AddedTokens::kAll);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        ASSERT_EQ(Encoded(*tokenizer_, text, AddedTokens::kAll), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace saccade
