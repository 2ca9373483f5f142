#include "base/file.h"

#include <unistd.h>

#include <fstream>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto name = "saccade_file_test_" + std::to_string(getpid());
    directory_ = std::filesystem::temp_directory_path() / name;
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::filesystem::path Write(std::string_view name, std::string_view content) {
    std::ofstream(directory_ / name, std::ios::binary) << content;
    return directory_ / name;
  }

  std::filesystem::path directory_;
};

TEST_F(File, ReadsBytesAsTheyAre) {
  const std::string bytes("a\0\xFF\r\n", 5);
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string content, ReadFile(Write("bytes", bytes), 5));
  EXPECT_EQ(content, bytes);
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string empty, ReadFile(Write("empty", ""), 0));
  EXPECT_EQ(empty, "");
}

TEST_F(File, RefusesWhatItCannotRead) {
  EXPECT_THAT(ReadFile(directory_ / "absent", 10), FailsWith(StatusCode::kNotFound, HasSubstr("absent")));
  EXPECT_THAT(ReadFile(directory_, 10), FailsWith(StatusCode::kInvalidArgument, HasSubstr("regular file")));
  EXPECT_THAT(ReadFile(Write("long", "123456"), 5),
              FailsWith(StatusCode::kTooLarge, HasSubstr("has 6 bytes, the limit is 5")));
  EXPECT_THAT(ReadFile("/dev/zero", 10), FailsWith(StatusCode::kInvalidArgument, HasSubstr("regular file")));
}

}  // namespace
}  // namespace saccade
