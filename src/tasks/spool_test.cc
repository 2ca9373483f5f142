#include "tasks/spool.h"

#include <unistd.h>

#include <fstream>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SpoolTest : public ::testing::Test {
 protected:
  SpoolTest() : directory_(fs::path(::testing::TempDir()) / fmt::format("spool_{}", getpid())) {
    fs::remove_all(directory_);
  }
  ~SpoolTest() override { fs::remove_all(directory_); }

  int64_t Files() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }

  const fs::path directory_;
};

TEST_F(SpoolTest, KeepsBytesUntilTheTaskGoes) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto spool, Spool::Open({directory_}));
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string first, spool->Add("task_1", std::string("a\0b", 3)));
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string second, spool->Add("task_1", "cd"));
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string other, spool->Add("task_12", "e"));
  EXPECT_EQ(spool->used_bytes(), 6);
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string bytes, spool->Read(first));
  EXPECT_EQ(bytes, std::string("a\0b", 3));
  SACCADE_EXPECT_OK(spool->RemoveTask("task_1"));
  EXPECT_THAT(spool->Read(second), FailsWith(StatusCode::kNotFound, HasSubstr("")));
  SACCADE_EXPECT_OK(spool->Read(other));
  EXPECT_EQ(spool->used_bytes(), 1);
  EXPECT_EQ(Files(), 1);
}

TEST_F(SpoolTest, RefusesOverTheCapAndLeavesNothing) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto spool, Spool::Open({directory_, 10}));
  SACCADE_EXPECT_OK(spool->Add("task_1", "1234567"));
  EXPECT_THAT(spool->Add("task_2", "1234"),
              FailsWith(StatusCode::kInsufficientStorage, HasSubstr("7 of 10")));
  EXPECT_EQ(Files(), 1);
  SACCADE_EXPECT_OK(spool->RemoveTask("task_1"));
  SACCADE_EXPECT_OK(spool->Add("task_2", "1234"));
}

TEST_F(SpoolTest, RestartCountsFilesAndDropsUnfinishedAndOrphanedOnes) {
  std::string kept;
  {
    SACCADE_ASSERT_OK_AND_ASSIGN(auto spool, Spool::Open({directory_}));
    SACCADE_ASSERT_OK_AND_ASSIGN(kept, spool->Add("task_live", "1234"));
    SACCADE_EXPECT_OK(spool->Add("task_gone", "12"));
  }
  std::ofstream(directory_ / "task_cut.9.part") << "half";
  SACCADE_ASSERT_OK_AND_ASSIGN(auto spool, Spool::Open({directory_}));
  EXPECT_EQ(spool->used_bytes(), 6);
  SACCADE_ASSERT_OK_AND_ASSIGN(const int64_t removed,
                               spool->RemoveOrphans([](const std::string& id) { return id == "task_live"; }));
  EXPECT_EQ(removed, 1);
  EXPECT_EQ(spool->used_bytes(), 4);
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string added, spool->Add("task_live", "5"));
  EXPECT_NE(added, kept);
}

TEST_F(SpoolTest, NamesCannotLeaveTheFolder) {
  SACCADE_ASSERT_OK_AND_ASSIGN(auto spool, Spool::Open({directory_}));
  EXPECT_THAT(spool->Add("../x", "1"), FailsWith(StatusCode::kInvalidArgument, HasSubstr("../x")));
  EXPECT_THAT(spool->Read("../../etc/passwd"), FailsWith(StatusCode::kNotFound, HasSubstr("spool")));
  EXPECT_THAT(spool->Read("task_1.0/../task_1.0"), FailsWith(StatusCode::kNotFound, HasSubstr("spool")));
}

TEST_F(SpoolTest, WarnsAboutMemory) {
  const fs::path in_memory = fmt::format("/dev/shm/saccade_spool_{}", getpid());
  if (!fs::is_directory("/dev/shm")) GTEST_SKIP() << "this system has no /dev/shm";
  SACCADE_ASSERT_OK_AND_ASSIGN(auto spool, Spool::Open({in_memory}));
  EXPECT_THAT(spool->Warnings(), ::testing::Contains(HasSubstr("lies in memory")));
  fs::remove_all(in_memory);
}

}  // namespace
}  // namespace saccade
