#include "server/api_keys.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "base/log.h"
#include "base/status_testing.h"

namespace saccade {
namespace {

using std::chrono::seconds;
using testing::FailsWith;
using ::testing::HasSubstr;

std::string HashOf(std::string_view key) { return "sha256:" + ToHex(Sha256Of(key)); }

TEST(ParseApiKeys, ReadsNamesHashesAndLimits) {
  SACCADE_ASSERT_OK_AND_ASSIGN(
      const std::vector<ApiKey> keys,
      ParseApiKeys("# a comment\n\n  one   " + HashOf("a") +
                   " max-concurrent=4\trequests-per-minute=60\r\ntwo " + HashOf("b") + " batch scope=one"));
  ASSERT_EQ(keys.size(), 2u);
  EXPECT_EQ(keys[0].name, "one");
  EXPECT_EQ(keys[0].digest, Sha256Of("a"));
  EXPECT_EQ(keys[0].scope, "one");
  EXPECT_EQ(keys[0].max_concurrent, 4);
  EXPECT_EQ(keys[0].requests_per_minute, 60);
  EXPECT_FALSE(keys[0].batch);
  EXPECT_EQ(keys[1].scope, "one");
  EXPECT_TRUE(keys[1].batch);
  EXPECT_EQ(keys[1].max_concurrent, 0);
}

TEST(ParseApiKeys, NamesTheBadLine) {
  const std::string good = "ok " + HashOf("a") + "\n";
  for (const std::string& bad :
       {std::string("alone"), "x " + ToHex(Sha256Of("a")), std::string("x sha256:12"),
        "x " + HashOf("a").substr(0, 70) + "g", "x " + HashOf("b") + " max-concurrent=0",
        "x " + HashOf("b") + " max-concurrent=", "x " + HashOf("b") + " max-concurrent=5x",
        "x " + HashOf("b") + " speed=3", "x " + HashOf("b") + " scope=", "ok " + HashOf("b")}) {
    EXPECT_THAT(ParseApiKeys(good + bad).status(),
                FailsWith(StatusCode::kInvalidArgument, HasSubstr("line 2")))
        << bad;
  }
}

class ApiKeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([this](std::string_view line) { log_ += line; });
    file_ = std::filesystem::temp_directory_path() /
            fmt::format("saccade_keys_{}_{}", getpid(), ::testing::UnitTest::GetInstance()->random_seed());
  }
  void TearDown() override {
    SetLogSink(nullptr);
    std::filesystem::remove(file_);
  }
  void Write(const std::string& text) { std::ofstream(file_) << text; }
  std::unique_ptr<ApiKeys> Load() {
    auto keys = ApiKeys::Load(file_, [this] { return now_; });
    EXPECT_TRUE(keys.ok()) << keys.status().ToString();
    return std::move(*keys);
  }

  std::filesystem::path file_;
  ApiKeys::Clock::time_point now_ = ApiKeys::Clock::time_point(seconds(1000));
  std::string log_;
};

TEST_F(ApiKeysTest, KnowsItsKeysOnly) {
  Write("one " + HashOf("secret-a") + "\ntwo " + HashOf("secret-b"));
  const auto keys = Load();
  EXPECT_EQ(keys->Find("secret-a")->name, "one");
  EXPECT_EQ(keys->Find("secret-b")->name, "two");
  for (const std::string& wrong :
       {std::string(), std::string("secret"), HashOf("secret-a"), std::string("secret-a ")}) {
    EXPECT_THAT(keys->Find(wrong).status(), FailsWith(StatusCode::kUnauthenticated, HasSubstr("API key")));
  }
}

TEST_F(ApiKeysTest, RefusesToStartWithoutKeys) {
  EXPECT_FALSE(ApiKeys::Load(file_).ok());
  Write("# nobody\n");
  EXPECT_THAT(ApiKeys::Load(file_).status(),
              FailsWith(StatusCode::kInvalidArgument, HasSubstr("no API key")));
}

TEST_F(ApiKeysTest, ReadsAChangedFileAndKeepsItsKeysWhenThatIsBroken) {
  Write("one " + HashOf("a"));
  const auto keys = Load();
  Write("another " + HashOf("b") + "\n");
  EXPECT_TRUE(keys->Find("a").ok()) << "looked before a second had passed";
  now_ += seconds(2);
  EXPECT_FALSE(keys->Find("a").ok());
  EXPECT_EQ(keys->Find("b")->name, "another");
  Write("broken\n");
  now_ += seconds(2);
  EXPECT_TRUE(keys->Find("b").ok());
  EXPECT_THAT(log_, HasSubstr("api_keys_kept"));
  std::filesystem::remove(file_);
  now_ += seconds(2);
  EXPECT_TRUE(keys->Find("b").ok());
}

TEST_F(ApiKeysTest, LimitsRequestsAtOnce) {
  Write("one " + HashOf("a") + " max-concurrent=2");
  auto keys = Load();
  const ApiKey key = *keys->Find("a");
  auto first = keys->Admit(key), second = keys->Admit(key);
  SACCADE_EXPECT_OK(first.status);
  SACCADE_EXPECT_OK(second.status);
  const auto third = keys->Admit(key);
  EXPECT_EQ(third.status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(third.retry_after_seconds, 1);
  first.lease.reset();
  SACCADE_EXPECT_OK(keys->Admit(key).status);
  keys.reset();
  second.lease.reset();  // may come after the end
}

TEST_F(ApiKeysTest, LimitsRequestsPerMinute) {
  Write("one " + HashOf("a") + " requests-per-minute=6");
  const auto keys = Load();
  const ApiKey key = *keys->Find("a");
  for (int i = 0; i < 6; ++i) SACCADE_EXPECT_OK(keys->Admit(key).status);
  const auto refused = keys->Admit(key);
  EXPECT_EQ(refused.status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(refused.retry_after_seconds, 10);
  now_ += seconds(refused.retry_after_seconds);
  SACCADE_EXPECT_OK(keys->Admit(key).status);
  EXPECT_FALSE(keys->Admit(key).status.ok());
  now_ += seconds(3600);  // an idle hour is worth one minute
  for (int i = 0; i < 6; ++i) SACCADE_EXPECT_OK(keys->Admit(key).status);
  EXPECT_FALSE(keys->Admit(key).status.ok());
}

}  // namespace
}  // namespace saccade
