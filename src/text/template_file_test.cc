#include "text/template_file.h"

#include <unistd.h>

#include <fstream>

#include "base/file.h"
#include "base/json.h"
#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;
using Kind = TemplateInfo::Kind;

const std::string kGolden = SACCADE_TEST_DATA "/golden/";

class TemplateFile : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        std::filesystem::temp_directory_path() / ("saccade_template_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
    const auto text = ReadFile(kGolden + "chat_template.jinja", 100000);
    ASSERT_TRUE(text.ok());
    published_ = *text;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  void Write(const char* name, const std::string& content) {
    std::ofstream(directory_ / name, std::ios::binary) << content;
  }

  std::filesystem::path directory_;
  std::string published_;
};

TEST_F(TemplateFile, KnowsTheRecordedCheckpoints) {
  for (const char* checkpoint : {"tiny-dense", "tiny-untied"}) {
    SACCADE_ASSERT_OK_AND_ASSIGN(const TemplateInfo info,
                                 RecogniseTemplate(FolderFiles(kGolden + checkpoint)));
    EXPECT_EQ(info.kind, Kind::kKnown);
    EXPECT_EQ(info.name, "Qwen3-VL Instruct");
    EXPECT_EQ(info.source, "chat_template.jinja");
    EXPECT_EQ(info.note, "");
  }
}

TEST_F(TemplateFile, LooksInThreePlaces) {
  SACCADE_ASSERT_OK_AND_ASSIGN(TemplateInfo info, RecogniseTemplate(FolderFiles(directory_)));
  EXPECT_EQ(info.kind, Kind::kMissing);
  EXPECT_THAT(info.note, HasSubstr("no chat template"));

  Write("tokenizer_config.json", "{\"eos_token\": \"x\"}");
  EXPECT_EQ(RecogniseTemplate(FolderFiles(directory_))->kind, Kind::kMissing);
  Write("tokenizer_config.json", Json{{"chat_template", published_}}.dump());
  EXPECT_EQ(RecogniseTemplate(FolderFiles(directory_))->source, "tokenizer_config.json");
  EXPECT_TRUE(RecogniseTemplate(FolderFiles(directory_))->known());
  Write("tokenizer_config.json",
        Json{{"chat_template",
              {{{"name", "tool_use"}, {"template", "x"}}, {{"name", "default"}, {"template", published_}}}}}
            .dump());
  EXPECT_TRUE(RecogniseTemplate(FolderFiles(directory_))->known());

  Write("chat_template.json", Json{{"chat_template", "{{ messages }}"}}.dump());
  SACCADE_ASSERT_OK_AND_ASSIGN(info, RecogniseTemplate(FolderFiles(directory_)));
  EXPECT_EQ(info.kind, Kind::kUnknown);
  EXPECT_EQ(info.source, "chat_template.json");
  EXPECT_THAT(info.note, HasSubstr(info.sha256));

  Write("chat_template.jinja", published_);
  EXPECT_TRUE(RecogniseTemplate(FolderFiles(directory_))->known());
}

TEST_F(TemplateFile, WhiteSpaceAtLineEndsDoesNotMatter) {
  std::string windows;
  for (const char c : published_) windows += c == '\n' ? std::string(" \r\n") : std::string(1, c);
  EXPECT_EQ(TemplateSha256(windows + "\r\n\n"), TemplateSha256(published_));
  EXPECT_EQ(TemplateSha256(published_.substr(0, published_.size() - 1)), TemplateSha256(published_));
  EXPECT_NE(TemplateSha256(" " + published_), TemplateSha256(published_));
  EXPECT_EQ(TemplateSha256(""), TemplateSha256("\n \n"));
}

TEST_F(TemplateFile, BrokenFilesAreErrors) {
  Write("chat_template.json", "{");
  EXPECT_THAT(RecogniseTemplate(FolderFiles(directory_)),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("chat_template.json")));
  Write("chat_template.json", "{\"chat_template\": 7}");
  EXPECT_THAT(RecogniseTemplate(FolderFiles(directory_)),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("must be a string")));
  Write("chat_template.json", "[]");
  EXPECT_THAT(RecogniseTemplate(FolderFiles(directory_)),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("not a JSON object")));
}

}  // namespace
}  // namespace saccade
