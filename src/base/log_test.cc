#include "base/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/json.h"
#include "base/status_testing.h"

namespace saccade {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class LogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override {
    SetLogSink(nullptr);
    SetLogLevel(LogLevel::kInfo);
    SetLogFormat(LogFormat::kText);
  }
  std::vector<std::string> lines_;
};

TEST_F(LogTest, WritesFieldsInOrder) {
  Log(LogLevel::kInfo, "order", {{"id", "r1"}, {"status", 200}, {"ms", 1.5}, {"stream", true}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], EndsWith(" info order id=r1 status=200 ms=1.500 stream=true"));
}

TEST_F(LogTest, TextCannotForgeALine) {
  Log(LogLevel::kInfo, "forge", {{"path", "/a b\n2024 error x"}});
  ASSERT_THAT(lines_, SizeIs(1));
  EXPECT_THAT(lines_[0], HasSubstr("path=\"/a b\\u000a2024 error x\""));
}

TEST_F(LogTest, JsonLinesParse) {
  SetLogFormat(LogFormat::kJson);
  Log(LogLevel::kError, "json", {{"text", "quote \" backslash \\ tab \t"}, {"n", -3}});
  ASSERT_THAT(lines_, SizeIs(1));
  SACCADE_ASSERT_OK_AND_ASSIGN(const Json line, ParseJson(lines_[0]));
  EXPECT_EQ(line["level"], "error");
  EXPECT_EQ(line["text"], "quote \" backslash \\ tab \t");
  EXPECT_EQ(line["n"], -3);
}

TEST_F(LogTest, LevelHidesLowerLines) {
  SetLogLevel(LogLevel::kWarning);
  Log(LogLevel::kInfo, "hidden");
  Log(LogLevel::kWarning, "shown");
  EXPECT_THAT(lines_, SizeIs(1));
}

TEST_F(LogTest, StormOfOneEventIsCutAndCounted) {
  for (int i = 0; i < 5 * kLogBurst; ++i) Log(LogLevel::kInfo, "storm");
  // The clock may pass a full second or two on the way, each of which allows another burst.
  EXPECT_LE(lines_.size(), 3u * kLogBurst);
  Log(LogLevel::kInfo, "other");
  EXPECT_THAT(lines_.back(), HasSubstr("other"));
}

TEST_F(LogTest, LevelNames) {
  SACCADE_ASSERT_OK_AND_ASSIGN(const LogLevel level, ParseLogLevel("warning"));
  EXPECT_EQ(level, LogLevel::kWarning);
  EXPECT_THAT(ParseLogLevel("loud"), testing::FailsWith(StatusCode::kInvalidArgument, HasSubstr("loud")));
}

}  // namespace
}  // namespace saccade
