#include "tasks/task_queue.h"

#include <unistd.h>

#include <filesystem>

#include "base/status_testing.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class TaskQueueTest : public ::testing::Test {
 protected:
  TaskQueueTest() : directory_(fs::path(::testing::TempDir()) / fmt::format("queue_{}", getpid())) {
    fs::remove_all(directory_);
    options_.data_directory = directory_;
    options_.store.now_ms = [this] { return now_; };
    Reopen();
  }
  ~TaskQueueTest() override { fs::remove_all(directory_); }

  void Reopen() {
    queue_.reset();
    auto opened = TaskQueue::Open(options_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    queue_ = std::move(*opened);
  }
  TaskSubmission Large(const std::string& id) {
    TaskSubmission submission;
    submission.task.id = id;
    submission.body = std::string(100'000, id.back());
    submission.about["custom_id"] = "mine";
    return submission;
  }
  int64_t Files() const {
    return std::distance(fs::directory_iterator(directory_ / "spool"), fs::directory_iterator());
  }

  const fs::path directory_;
  int64_t now_ = 1'000'000;
  TaskQueueOptions options_;
  std::unique_ptr<TaskQueue> queue_;
};

TEST_F(TaskQueueTest, BodiesComeBackAndLeaveTheSpoolWhenTheirTaskEnds) {
  std::vector<TaskSubmission> submissions = {Large("task_a"), Large("task_b"), Large("task_c"),
                                             Large("task_d")};
  submissions[1].task.deadline_ms = now_ + 5;
  SACCADE_ASSERT_OK(queue_->Submit(submissions));
  EXPECT_EQ(Files(), 4);
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto claimed, queue_->store().Claim(1'000));
  EXPECT_EQ(claimed->task.id, "task_a");
  SACCADE_ASSERT_OK_AND_ASSIGN(const std::string body, queue_->Body(claimed->task));
  EXPECT_EQ(body, std::string(100'000, 'a'));
  EXPECT_EQ(TaskQueue::About(claimed->task)["custom_id"], "mine");
  SACCADE_EXPECT_OK(queue_->Finish(claimed->lease, "{}"));
  EXPECT_EQ(Files(), 3);
  now_ += 5;
  SACCADE_EXPECT_OK(queue_->Sweep());  // expires task_b
  EXPECT_EQ(Files(), 2);
  SACCADE_ASSERT_OK(queue_->Cancel("task_c"));
  EXPECT_EQ(Files(), 1);
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto last, queue_->store().Claim(1'000));
  SACCADE_EXPECT_OK(queue_->Fail(last->lease, "later", true));
  EXPECT_EQ(Files(), 1);
  EXPECT_EQ(queue_->spool_bytes(), 100'000);
  now_ += 1'000;
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto again, queue_->store().Claim(1'000));
  SACCADE_EXPECT_OK(queue_->Fail(again->lease, "never", false));
  EXPECT_EQ(Files(), 0);
  EXPECT_EQ(queue_->spool_bytes(), 0);
}

TEST_F(TaskQueueTest, TheSameKeyKeepsTheFirstBodyOnly) {
  TaskSubmission first = Large("task_a"), second = Large("task_b");
  first.task.idempotency_key = second.task.idempotency_key = "k";
  SACCADE_ASSERT_OK(queue_->Submit({&first, 1}));
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto outcomes, queue_->Submit({&second, 1}));
  EXPECT_EQ(outcomes[0].task.id, "task_a");
  EXPECT_FALSE(outcomes[0].created);
  EXPECT_EQ(Files(), 1);
}

TEST_F(TaskQueueTest, AFullSpoolTakesNothingOfABatch) {
  options_.max_spool_bytes = 250'000;
  Reopen();
  std::vector<TaskSubmission> submissions = {Large("task_a"), Large("task_b"), Large("task_c")};
  EXPECT_THAT(queue_->Submit(submissions), FailsWith(StatusCode::kInsufficientStorage, HasSubstr("spool")));
  EXPECT_EQ(Files(), 0);
  EXPECT_EQ(queue_->spool_bytes(), 0);
  EXPECT_THAT(queue_->store().Get("task_a"), FailsWith(StatusCode::kNotFound, HasSubstr("task_a")));
}

TEST_F(TaskQueueTest, OneOwnerAndNoOrphansAtTheNextStart) {
  EXPECT_THAT(TaskQueue::Open(options_), FailsWith(StatusCode::kUnavailable, HasSubstr("another server")));
  TaskSubmission kept = Large("task_kept");
  SACCADE_ASSERT_OK(queue_->Submit({&kept, 1}));
  SACCADE_ASSERT_OK(queue_->store().Claim(1'000'000));
  queue_.reset();
  // As if killed between the body and its row, and between an end and the removal of the body.
  fs::copy_file(*fs::directory_iterator(directory_ / "spool"), directory_ / "spool" / "task_lost.7");
  Reopen();
  EXPECT_EQ(Files(), 1);
  SACCADE_ASSERT_OK_AND_ASSIGN(const Task task, queue_->store().Get("task_kept"));
  EXPECT_EQ(task.state, TaskState::kQueued);
  SACCADE_ASSERT_OK(queue_->Body(task));
}

}  // namespace
}  // namespace saccade
