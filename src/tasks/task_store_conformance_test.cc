// What every store must do. A new store adds its factory at the end and runs all of it.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "base/status_testing.h"
#include "tasks/task_store.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr int64_t kLease = 1'000;

class TaskStoreTest : public ::testing::Test {
 protected:
  TaskStoreTest() : directory_(fs::path(::testing::TempDir()) / fmt::format("store_{}", getpid())) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
    options_.now_ms = [this] { return now_; };
    Reopen();
  }
  ~TaskStoreTest() override {
    store_.reset();
    fs::remove_all(directory_);
  }

  std::string path() const { return (directory_ / "tasks.db").string(); }
  void Reopen() {
    store_.reset();
    auto opened = OpenSqliteTaskStore(path(), options_);
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    store_ = std::move(opened).value();
  }

  std::string Put(NewTask task = {}) {
    if (task.id.empty()) task.id = MakeTaskId();
    task.request = "{\"for\":\"" + task.id + "\"}";
    const auto outcome = store_->Put(task);
    EXPECT_TRUE(outcome.ok()) << outcome.status().ToString();
    return outcome.ok() ? outcome->task.id : "";
  }
  std::optional<ClaimedTask> Claim() {
    auto claimed = store_->Claim(kLease);
    EXPECT_TRUE(claimed.ok()) << claimed.status().ToString();
    return claimed.ok() ? *claimed : std::nullopt;
  }
  Task Get(const std::string& id) {
    auto task = store_->Get(id);
    EXPECT_TRUE(task.ok()) << task.status().ToString();
    return task.ok() ? *task : Task();
  }

  const fs::path directory_;
  int64_t now_ = 1'000'000;
  TaskStoreOptions options_;
  std::unique_ptr<TaskStore> store_;
};

TEST_F(TaskStoreTest, RunsByPriorityThenInOrder) {
  const std::string first = Put(), second = Put(), urgent = Put({.priority = 5});
  EXPECT_EQ(Get(urgent).position, 0);
  EXPECT_EQ(Get(first).position, 1);
  EXPECT_EQ(Get(second).position, 2);
  const auto claimed = Claim();
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->task.id, urgent);
  EXPECT_EQ(claimed->task.request, "{\"for\":\"" + urgent + "\"}");
  EXPECT_EQ(Claim()->task.id, first);
  EXPECT_EQ(Claim()->task.id, second);
  EXPECT_FALSE(Claim().has_value());
}

// More tasks than the SQLite store counts in one stretch, moved through every transition at random.
TEST_F(TaskStoreTest, PositionsAreTheNumberOfTasksBefore) {
  std::mt19937 random(7);
  std::vector<NewTask> tasks(900);
  for (NewTask& task : tasks) {
    task.id = MakeTaskId();
    task.request = "{}";
    task.priority = static_cast<int64_t>(random() % 3);
    task.deadline_ms = random() % 10 == 0 ? now_ + 5'000 : 0;
  }
  ASSERT_TRUE(store_->PutAll(tasks).ok());
  std::vector<TaskLease> leases;
  for (int step = 0; step < 400; ++step) {
    const NewTask& task = tasks[random() % tasks.size()];
    if (step == 200) now_ += 6'000;  // the deadlines pass, the leases lapse
    if (random() % 2 == 0) {
      if (const auto claimed = Claim()) leases.push_back(claimed->lease);
    } else if (random() % 3 == 0) {
      ASSERT_TRUE(store_->Cancel(task.id).ok());
    } else if (!leases.empty()) {
      (void)store_->Release(leases.back());
      leases.pop_back();
    }
  }
  ASSERT_TRUE(store_->Sweep().ok());
  std::vector<std::pair<int64_t, size_t>> queued;  // (-priority, index): the order of the queue
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (Get(tasks[i].id).state == TaskState::kQueued) queued.emplace_back(-tasks[i].priority, i);
  }
  std::sort(queued.begin(), queued.end());
  ASSERT_GT(queued.size(), 400u);
  Reopen();
  for (size_t place = 0; place < queued.size(); ++place) {
    EXPECT_EQ(Get(tasks[queued[place].second].id).position, static_cast<int64_t>(place));
  }
}

TEST_F(TaskStoreTest, FinishGivesOneResultThatSurvivesReopening) {
  const std::string id = Put();
  const auto claimed = Claim();
  SACCADE_EXPECT_OK(store_->Renew(claimed->lease, kLease, "{\"text\":\"so far\"}"));
  EXPECT_EQ(Get(id).progress, "{\"text\":\"so far\"}");
  SACCADE_EXPECT_OK(store_->Renew(claimed->lease, kLease, ""));
  EXPECT_EQ(Get(id).progress, "{\"text\":\"so far\"}");
  SACCADE_EXPECT_OK(store_->Finish(claimed->lease, "answer"));
  EXPECT_THAT(store_->Finish(claimed->lease, "again"), FailsWith(StatusCode::kCancelled, HasSubstr(id)));
  Reopen();
  EXPECT_EQ(Get(id).state, TaskState::kDone);
  EXPECT_EQ(Get(id).result, "answer");
}

TEST_F(TaskStoreTest, SameIdempotencyKeyIsOneTask) {
  const std::string id = Put({.idempotency_key = "k"});
  SACCADE_ASSERT_OK_AND_ASSIGN(const PutOutcome again,
                               store_->Put({.id = MakeTaskId(), .idempotency_key = "k"}));
  EXPECT_FALSE(again.created);
  EXPECT_EQ(again.task.id, id);
  SACCADE_ASSERT_OK_AND_ASSIGN(const TaskCounts counts, store_->Counts());
  EXPECT_EQ(counts[TaskState::kQueued], 1);
}

TEST_F(TaskStoreTest, LapsedLeaseIsTakenOverAndTheOldHolderCannotEndIt) {
  const std::string id = Put();
  const auto dead = Claim();
  now_ += kLease - 1;
  EXPECT_FALSE(Claim().has_value());
  now_ += 1;
  EXPECT_FALSE(Claim().has_value());
  EXPECT_EQ(Get(id).state, TaskState::kQueued);
  now_ += options_.retry_delay_ms;
  const auto taken = Claim();
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->task.attempts, 2);
  EXPECT_THAT(store_->Finish(dead->lease, "late"), FailsWith(StatusCode::kCancelled, HasSubstr(id)));
  EXPECT_THAT(store_->Renew(dead->lease, kLease, ""), FailsWith(StatusCode::kCancelled, HasSubstr(id)));
  SACCADE_EXPECT_OK(store_->Finish(taken->lease, "once"));
  EXPECT_EQ(Get(id).result, "once");
}

TEST_F(TaskStoreTest, TaskThatStopsItsWorkerThreeTimesIsSetAside) {
  const std::string id = Put();
  for (int attempt = 0; attempt < 3; ++attempt) {
    ASSERT_TRUE(Claim().has_value());
    now_ += kLease;
    EXPECT_FALSE(Claim().has_value());
    now_ += options_.retry_delay_ms << (3 * attempt);
  }
  EXPECT_FALSE(Claim().has_value());
  EXPECT_EQ(store_->TakeEnded(), std::vector<std::string>{id});
  EXPECT_EQ(Get(id).state, TaskState::kFailed);
  EXPECT_THAT(Get(id).error, HasSubstr("stopped 3 times"));
}

TEST_F(TaskStoreTest, ASoleOwnerFindsWhatItsPredecessorWasRunning) {
  const std::string id = Put();
  const auto dead = Claim();
  options_.sole_owner = true;
  Reopen();
  SACCADE_EXPECT_OK(store_->Sweep());
  EXPECT_EQ(Get(id).state, TaskState::kQueued);
  EXPECT_THAT(store_->Finish(dead->lease, "late"), FailsWith(StatusCode::kCancelled, HasSubstr(id)));
}

TEST_F(TaskStoreTest, SeveralArePutTogetherOrNotAtAll) {
  options_.max_queued = 3;
  Reopen();
  std::vector<NewTask> tasks = {{.id = "task_a"}, {.id = "task_b"}};
  SACCADE_ASSERT_OK_AND_ASSIGN(const auto outcomes, store_->PutAll(tasks));
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[1].task.id, "task_b");
  EXPECT_EQ(outcomes[1].task.position, 1);
  tasks = {{.id = "task_c"}, {.id = "task_d"}};
  EXPECT_THAT(store_->PutAll(tasks), FailsWith(StatusCode::kResourceExhausted, HasSubstr("3 tasks")));
  EXPECT_THAT(store_->GetState("task_c"), FailsWith(StatusCode::kNotFound, HasSubstr("task_c")));
  SACCADE_ASSERT_OK_AND_ASSIGN(const TaskState state, store_->GetState("task_a"));
  EXPECT_EQ(state, TaskState::kQueued);
}

TEST_F(TaskStoreTest, RetriesBackOffAndEnd) {
  const std::string id = Put();
  for (const int64_t delay : {1'000, 2'000}) {
    SACCADE_EXPECT_OK(store_->Fail(Claim()->lease, "busy", true));
    now_ += delay - 1;
    EXPECT_FALSE(Claim().has_value());
    now_ += 1;
  }
  SACCADE_EXPECT_OK(store_->Fail(Claim()->lease, "still busy", true));
  EXPECT_EQ(Get(id).state, TaskState::kFailed);
  EXPECT_EQ(Get(id).error, "still busy");
  const std::string hopeless = Put();
  SACCADE_EXPECT_OK(store_->Fail(Claim()->lease, "bad picture", false));
  EXPECT_EQ(Get(hopeless).state, TaskState::kFailed);
}

TEST_F(TaskStoreTest, ReleasedAttemptsDoNotCount) {
  const std::string id = Put();
  for (int i = 0; i < 5; ++i) SACCADE_EXPECT_OK(store_->Release(Claim()->lease));
  EXPECT_EQ(Get(id).state, TaskState::kQueued);
  EXPECT_EQ(Claim()->task.attempts, 1);
}

TEST_F(TaskStoreTest, CancelInEveryState) {
  const std::string running = Put();
  const auto claimed = Claim();
  const std::string queued = Put();
  for (const std::string& id : {running, queued}) {
    SACCADE_ASSERT_OK_AND_ASSIGN(const Task task, store_->Cancel(id));
    EXPECT_EQ(task.state, TaskState::kCancelled);
  }
  EXPECT_THAT(store_->Finish(claimed->lease, "late"), FailsWith(StatusCode::kCancelled, HasSubstr(running)));
  EXPECT_FALSE(Claim().has_value());
  const std::string done = Put();
  SACCADE_EXPECT_OK(store_->Finish(Claim()->lease, "answer"));
  SACCADE_ASSERT_OK_AND_ASSIGN(const Task still_done, store_->Cancel(done));
  EXPECT_EQ(still_done.state, TaskState::kDone);
  EXPECT_EQ(still_done.result, "answer");
  EXPECT_THAT(store_->Cancel("task_unknown"), FailsWith(StatusCode::kNotFound, HasSubstr("task_unknown")));
}

TEST_F(TaskStoreTest, ExpiredTasksNeverRunAndResultsAreForgotten) {
  const std::string late = Put({.deadline_ms = now_ + 10});
  const std::string brief = Put({.ttl_ms = 100});
  now_ += 10;
  EXPECT_EQ(Claim()->task.id, brief);
  EXPECT_EQ(Get(late).state, TaskState::kExpired);
  SACCADE_ASSERT_OK_AND_ASSIGN(const Task cancelled, store_->Cancel(brief));
  now_ += 99;
  SACCADE_EXPECT_OK(store_->Sweep());
  SACCADE_EXPECT_OK(store_->Get(brief));
  now_ += 1;
  SACCADE_EXPECT_OK(store_->Sweep());
  EXPECT_THAT(store_->Get(brief), FailsWith(StatusCode::kNotFound, HasSubstr(brief)));
  SACCADE_EXPECT_OK(store_->Get(late));
}

TEST_F(TaskStoreTest, ListsPagesNewestFirst) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(Put());
  const auto claimed = Claim();
  std::vector<std::string> listed;
  TaskFilter filter{.state = TaskState::kQueued, .limit = 2};
  do {
    SACCADE_ASSERT_OK_AND_ASSIGN(const TaskPage page, store_->List(filter));
    for (const Task& task : page.tasks) listed.push_back(task.id);
    filter.after = page.next;
  } while (!filter.after.empty());
  EXPECT_EQ(listed, (std::vector<std::string>{ids[4], ids[3], ids[2], ids[1]}));
  EXPECT_THAT(store_->List({.after = "x' OR 1"}), FailsWith(StatusCode::kInvalidArgument, HasSubstr("page")));
}

TEST_F(TaskStoreTest, ListsTheTasksOfOneOwner) {
  const std::string mine = Put({.owner = "me"});
  Put({.owner = "you"});
  Put();
  SACCADE_ASSERT_OK_AND_ASSIGN(const TaskPage page, store_->List({.owner = "me"}));
  ASSERT_EQ(page.tasks.size(), 1U);
  EXPECT_EQ(page.tasks[0].id, mine);
  EXPECT_EQ(Get(mine).owner, "me");
  SACCADE_ASSERT_OK_AND_ASSIGN(const TaskPage none, store_->List({.state = TaskState::kDone, .owner = "me"}));
  EXPECT_TRUE(none.tasks.empty());
}

TEST_F(TaskStoreTest, FullQueueAndFullDiskAreRefusedWhole) {
  options_.max_queued = 1;
  Reopen();
  Put();
  EXPECT_THAT(store_->Put({.id = "task_b"}), FailsWith(StatusCode::kResourceExhausted, HasSubstr("1 tasks")));
  options_.max_queued = 1'000;
  SACCADE_ASSERT_OK_AND_ASSIGN(store_, OpenSqliteTaskStore(path(), options_, 256 * 1024));
  const NewTask large{.id = "task_large", .request = std::string(400'000, 'x')};
  EXPECT_THAT(store_->Put(large), FailsWith(StatusCode::kInsufficientStorage, HasSubstr("full")));
  EXPECT_THAT(store_->Get("task_large"), FailsWith(StatusCode::kNotFound, HasSubstr("task_large")));
  SACCADE_ASSERT_OK_AND_ASSIGN(const TaskCounts counts, store_->Counts());
  EXPECT_EQ(counts[TaskState::kQueued], 1);
  Put();
}

TEST_F(TaskStoreTest, ManyClaimantsGetDifferentTasks) {
  constexpr int kTasks = 60;
  for (int i = 0; i < kTasks; ++i) Put();
  std::mutex mutex;
  std::set<std::string> seen;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (const auto claimed = Claim()) {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(seen.insert(claimed->task.id).second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(seen.size(), size_t{kTasks});
}

// One life of a worker process: finishes tasks until there are none or `most` are done, then waits for its
// end. A byte in the pipe stands for a result that the store accepted.
[[noreturn]] void Work(const std::string& path, TaskStoreOptions options, int most, int pipe) {
  auto store = OpenSqliteTaskStore(path, std::move(options));
  for (int done = 0; store.ok() && done < most; ++done) {
    const auto claimed = (*store)->Claim(kLease);
    if (!claimed.ok() || !claimed->has_value()) _exit(0);
    if (!(*store)->Finish((**claimed).lease, "result").ok() || write(pipe, "x", 1) != 1) _exit(1);
  }
  pause();
  _exit(1);
}

TEST_F(TaskStoreTest, KilledWorkersLoseNothingAndAnswerOnce) {
  constexpr int kTasks = 200, kKills = 20, kMostPerLife = 9;
  options_.max_attempts = kKills + 1;
  options_.retry_delay_ms = 0;
  std::vector<std::string> ids;
  for (int i = 0; i < kTasks; ++i) ids.push_back(Put());
  store_.reset();
  std::minstd_rand random(7);
  for (int life = 0; life <= kKills; ++life) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t worker = fork();
    if (worker == 0) Work(path(), options_, life < kKills ? kMostPerLife : kTasks + 1, ends[1]);
    if (life < kKills) {
      // Some accepted results, then a moment within one of the next transactions.
      char byte;
      for (int i = 0; i < 4; ++i) ASSERT_EQ(read(ends[0], &byte, 1), 1);
      usleep(random() % 1'000);
      kill(worker, SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(waitpid(worker, &status, 0), worker);
    EXPECT_TRUE(life < kKills || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
    close(ends[0]);
    close(ends[1]);
    now_ += kLease;
  }
  Reopen();
  for (const std::string& id : ids) EXPECT_EQ(Get(id).state, TaskState::kDone) << id;
  SACCADE_ASSERT_OK_AND_ASSIGN(const TaskCounts counts, store_->Counts());
  EXPECT_EQ(counts[TaskState::kDone], kTasks);
}

}  // namespace
}  // namespace saccade
