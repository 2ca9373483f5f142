// Moves accepted tasks into the model as the batch class: several in flight, so that the engine never waits
// for the next one, and behind everything interactive, so that people do not wait for tasks.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "server/backend_slot.h"
#include "server/task_execution.h"
#include "tasks/task_queue.h"

namespace saccade {

struct TaskRunnerOptions {
  int max_in_flight = 18;   // a little over what the engine answers together: its next one is always there
  int prepare_threads = 2;  // decode pictures beside the engine
  size_t max_pictures = 64;
  int64_t lease_ms = 60'000;
  std::chrono::milliseconds renew_every{15'000};
  std::chrono::milliseconds poll_every{250};  // for retries that became due and tasks of other processes
  std::chrono::milliseconds sweep_every{1'000};
};

struct TaskRunnerStats {
  int64_t in_flight = 0;
  int64_t finished = 0, failed = 0, retried = 0;  // ends of attempts
  double seconds_per_task = 0;  // of the recent past, side by side ones shared; 0: not known
};

// Thread-safe. A task that stopped a worker before runs alone: if it does so again, nothing else is harmed.
class TaskRunner {
 public:
  // Both must outlive the runner. Tasks start when the slot has a backend.
  TaskRunner(TaskQueue& queue, BackendSlot& slot, TaskRunnerOptions options);
  ~TaskRunner();  // Stop(0)

  // A task was accepted.
  void Wake();
  // Its owner cancelled it in the queue.
  void StopTask(const std::string& id);
  // Claims nothing more.
  void StopClaiming();
  // The same, and running tasks may finish for `patience`, the others go back to the queue unharmed.
  void Stop(std::chrono::milliseconds patience);

  std::optional<TaskLive> Live(const std::string& id) const;
  TaskRunnerStats Stats() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Run {
    TaskLease lease;
    Clock::time_point started = Clock::now();
    bool alone = false;
    std::shared_ptr<TaskExecution> execution;  // null while it is prepared
    Status failed;                             // of the preparation
    bool released = false;                     // goes back without a verdict
    bool stop = false;                         // cancelled by its owner
  };

  void ClaimLoop();
  void KeepLoop();
  // Where a task may run that is not claimed yet; kNone: the runner stops.
  enum class Place : uint8_t { kNone, kShared, kAlone };
  Place WaitForPlace();
  void GiveBack(Place place);
  bool WaitForWork(uint64_t seen);
  void BeginRun(const ClaimedTask& claimed, Place place);
  // Whether the task may run in this place; otherwise it went back, to be claimed when nothing else runs.
  bool FitsPlace(const ClaimedTask& claimed, Place& place);
  Status StartRun(const ClaimedTask& claimed, const std::shared_ptr<Run>& run);
  Status SubmitPatiently(const std::shared_ptr<TaskExecution>& execution, const std::shared_ptr<Run>& run);
  void PushEnd(const std::string& id);
  // False when the store could not take the end now.
  bool EndRun(const std::string& id);
  Status WriteEnd(const Run& run);
  Status WriteFailure(const Run& run, const Status& status);
  void RenewLeases();

  TaskQueue& queue_;
  BackendSlot& slot_;
  const TaskRunnerOptions options_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false, aborting_ = false, joined_ = false;
  uint64_t wakes_ = 0;
  int active_ = 0;  // places taken
  const Clock::time_point started_ = Clock::now();
  int64_t ended_ = 0;
  bool lone_ = false;         // nothing else may run now
  bool lone_wanted_ = false;  // nothing is claimed before all places are free
  std::map<std::string, std::shared_ptr<Run>> runs_;
  std::deque<std::string> ends_;
  TaskRunnerStats stats_;
  std::vector<std::thread> threads_;
};

}  // namespace saccade
