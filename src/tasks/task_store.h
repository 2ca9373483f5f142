// Facade of the tasks layer: work that was accepted and must end with exactly one result, whatever stops in
// between. A store keeps tasks; the uploads of a task lie in a Spool (tasks/spool.h) until it has ended.
//
// States: queued -> running -> done | failed | cancelled, queued -> expired | cancelled. A running task whose
// lease lapses or whose attempt fails for a passing reason is queued again, at most `max_attempts` times.
// Execution is at least once; only the holder of the current lease can end a task, so there is one result.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

enum class TaskState : uint8_t { kQueued = 0, kRunning, kDone, kFailed, kCancelled, kExpired };
inline constexpr int kTaskStates = 6;
std::string_view TaskStateName(TaskState state);  // "queued", "running", ...
std::optional<TaskState> TaskStateFromName(std::string_view name);
// No transition leads out of it.
inline bool IsFinal(TaskState state) { return state >= TaskState::kDone; }

// Times are milliseconds since the Unix epoch; 0 means none.
struct NewTask {
  std::string id = {};               // from MakeTaskId; uploads are spooled under it before Put
  std::string request = {};          // JSON, opaque to the store
  std::string idempotency_key = {};  // empty: none
  std::string owner = {};            // who may ask for it; empty: everybody who knows its id
  int64_t priority = 0;              // larger first; equal ones in the order of Put
  int64_t deadline_ms = 0;           // a task that has not begun by then never runs
  int64_t ttl_ms = 0;                // how long the result is kept; 0: the store's default
};

struct Task {
  std::string id, request, owner;
  TaskState state = TaskState::kQueued;
  int64_t priority = 0, deadline_ms = 0;
  int64_t created_ms = 0, started_ms = 0, finished_ms = 0;
  int64_t attempts = 0;
  int64_t claims = 0;    // how often it was claimed: the `attempt` of its newest lease
  int64_t position = 0;  // queued tasks before this one; 0 when not queued
  std::string progress;  // of a running task: JSON of the last Renew, opaque to the store
  std::string result;    // done: JSON
  std::string error;     // failed: JSON or a sentence
};

// What the claimant shows to renew or end the attempt. Void after the lease was taken over or the task ended.
struct TaskLease {
  std::string id;
  int64_t attempt = 0;
};
struct ClaimedTask {
  Task task;
  TaskLease lease;
};

struct PutOutcome {
  Task task;
  bool created = true;  // false: the idempotency key was known, `task` is the earlier one
};

struct TaskFilter {
  std::optional<TaskState> state = std::nullopt;
  std::string owner = {};  // empty: everybody's
  int64_t limit = 50;
  std::string after = {};  // `next` of the page before; empty: from the newest
};
struct TaskPage {
  std::vector<Task> tasks;  // newest first, without request bodies
  std::string next;         // empty: this was the last page
};

struct TaskCounts {
  int64_t of[kTaskStates] = {};
  int64_t operator[](TaskState state) const { return of[static_cast<int>(state)]; }
};

struct TaskStoreOptions {
  int64_t max_queued = 100'000;    // more: kResourceExhausted
  int64_t max_attempts = 3;        // a task that stopped that many workers is set aside
  int64_t retry_delay_ms = 1'000;  // after the first failure or lapse; then 2 or 8 times that
  int64_t result_ttl_ms = int64_t{24} * 3600 * 1000;  // when the task does not say
  // No other process uses the store: leases that are found at opening are those of a dead predecessor and
  // lapse at once.
  bool sole_owner = false;
  std::function<int64_t()> now_ms;  // empty: the system clock. Tests bring their own.
};

// Thread-safe. Errors: kNotFound for unknown ids, kCancelled for a lease that is void, kUnavailable when the
// store cannot be reached, kInsufficientStorage when it is full; then nothing was written.
class TaskStore {
 public:
  virtual ~TaskStore() = default;

  // Durable when it returns: all of them or, after an error, none. Outcomes in the order of `tasks`.
  virtual Result<std::vector<PutOutcome>> PutAll(std::span<const NewTask> tasks) = 0;
  Result<PutOutcome> Put(const NewTask& task);
  // The next task that may run, now running under a lease of `lease_ms`; nullopt when there is none.
  // Expires and takes over what is due first.
  virtual Result<std::optional<ClaimedTask>> Claim(int64_t lease_ms) = 0;
  // Extends the lease to now + lease_ms; replaces the progress unless it is empty.
  virtual Status Renew(const TaskLease& lease, int64_t lease_ms, std::string_view progress) = 0;
  virtual Status Finish(const TaskLease& lease, std::string_view result) = 0;
  // Ends the attempt. With `retry` the task is queued again after a delay while attempts are left.
  virtual Status Fail(const TaskLease& lease, std::string_view error, bool retry) = 0;
  // Gives an unharmed task back, for a worker that stops: the attempt does not count.
  virtual Status Release(const TaskLease& lease) = 0;
  // Queued and running tasks become cancelled, ended ones stay as they are. The task afterwards.
  virtual Result<Task> Cancel(std::string_view id) = 0;
  // Expires tasks past their deadline, takes over lapsed leases, forgets results past their time to live.
  virtual Status Sweep() = 0;
  // Ids of the tasks that this object expired or set aside since the last call: nobody else hears of their
  // end.
  virtual std::vector<std::string> TakeEnded() = 0;

  virtual Result<Task> Get(std::string_view id) = 0;
  // Only the state, which costs less.
  virtual Result<TaskState> GetState(std::string_view id) = 0;
  virtual Result<TaskPage> List(const TaskFilter& filter) = 0;
  virtual Result<TaskCounts> Counts() = 0;
};

// 32 random hex digits after "task_".
std::string MakeTaskId();

// Opens or creates the database file (WAL, its own lock files beside it). `max_bytes` limits the file; 0:
// the disk is the limit. Several processes of one machine may share it.
Result<std::unique_ptr<TaskStore>> OpenSqliteTaskStore(const std::string& path, TaskStoreOptions options,
                                                       int64_t max_bytes = 0);

}  // namespace saccade
