#include "server/task_runner.h"

#include <algorithm>

#include "base/log.h"
#include "server/error_reply.h"

namespace saccade {
namespace {

using std::chrono::milliseconds;

// The engine's queue is full of other requests: the task waits with its pictures prepared.
constexpr milliseconds kBusyPause{50};
// The store cannot take an end: the disk is full or it cannot be reached.
constexpr milliseconds kStorePause{500};
// A fresh runner begins with so many tasks and adds one with each that ends: a server that is killed again
// and again just after its start takes few tasks with it.
constexpr int64_t kFirstPlaces = 2;
// Long tasks shall not keep the others waiting for it: one place more after this time, too.
constexpr milliseconds kPlaceTime{1'000};
// How much of the recent past the speed is made of.
constexpr double kNewShare = 0.15;
// Enough for the engine's last events after a Cancel; its step takes far less.
constexpr milliseconds kAbortPatience{10'000};

// Whether another attempt may go better.
bool MayPass(StatusCode code) {
  return code == StatusCode::kUnavailable || code == StatusCode::kResourceExhausted ||
         code == StatusCode::kInternal || code == StatusCode::kInsufficientStorage;
}

}  // namespace

TaskRunner::TaskRunner(TaskQueue& queue, BackendSlot& slot, TaskRunnerOptions options)
    : queue_(queue), slot_(slot), options_(options) {
  for (int i = 0; i < options_.prepare_threads; ++i) threads_.emplace_back([this] { ClaimLoop(); });
  threads_.emplace_back([this] { KeepLoop(); });
}

TaskRunner::~TaskRunner() { Stop(milliseconds(0)); }

void TaskRunner::Wake() {
  const std::lock_guard lock(mutex_);
  ++wakes_;
  changed_.notify_all();
}

void TaskRunner::StopTask(const std::string& id) {
  std::shared_ptr<TaskExecution> execution;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(id);
    if (found == runs_.end()) return;
    found->second->stop = true;
    execution = found->second->execution;
  }
  if (execution) execution->Cancel();
}

void TaskRunner::StopClaiming() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

void TaskRunner::Stop(milliseconds patience) {
  std::vector<std::shared_ptr<TaskExecution>> executions;
  {
    std::unique_lock lock(mutex_);
    if (std::exchange(joined_, true)) return;
    stopping_ = true;
    changed_.notify_all();
    changed_.wait_for(lock, patience, [this] { return runs_.empty(); });
    aborting_ = true;
    changed_.notify_all();
    for (const auto& [id, run] : runs_) {
      if (run->execution) executions.push_back(run->execution);
    }
  }
  for (const auto& execution : executions) execution->Cancel();
  {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kAbortPatience, [this] { return runs_.empty(); });
  }
  for (std::thread& thread : threads_) thread.join();
}

std::optional<TaskLive> TaskRunner::Live(const std::string& id) const {
  TaskLive live;
  std::shared_ptr<TaskExecution> execution;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(id);
    if (found == runs_.end()) return std::nullopt;
    live.claim = found->second->lease.attempt;
    execution = found->second->execution;
  }
  if (execution) execution->FillLive(live);
  return live;
}

TaskRunnerStats TaskRunner::Stats() const {
  const std::lock_guard lock(mutex_);
  TaskRunnerStats stats = stats_;
  stats.in_flight = static_cast<int64_t>(runs_.size());
  return stats;
}

TaskRunner::Place TaskRunner::WaitForPlace() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const int64_t grown = ended_ + (Clock::now() - started_) / kPlaceTime;
    const int64_t most = std::min<int64_t>(options_.max_in_flight, kFirstPlaces + grown);
    const bool room = active_ == 0 || (active_ < most && !lone_wanted_);
    // The slot tells of a backend by no notification; it comes once.
    if (room && !lone_ && slot_.Get() != nullptr) {
      ++active_;
      lone_ = std::exchange(lone_wanted_, false);
      return lone_ ? Place::kAlone : Place::kShared;
    }
    changed_.wait_for(lock, options_.poll_every);
  }
  return Place::kNone;
}

void TaskRunner::GiveBack(Place place) {
  const std::lock_guard lock(mutex_);
  --active_;
  if (place == Place::kAlone) lone_ = false;
  changed_.notify_all();
}

bool TaskRunner::WaitForWork(uint64_t seen) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, options_.poll_every, [&] { return stopping_ || wakes_ != seen; });
  return !stopping_;
}

void TaskRunner::ClaimLoop() {
  while (true) {
    Place place = WaitForPlace();
    if (place == Place::kNone) return;
    uint64_t seen = 0;
    {
      const std::lock_guard lock(mutex_);
      seen = wakes_;
    }
    const auto claimed = queue_.store().Claim(options_.lease_ms);
    if (claimed.ok() && *claimed) {
      if (FitsPlace(**claimed, place)) {
        BeginRun(**claimed, place);
      } else {
        GiveBack(place);
      }
      continue;
    }
    GiveBack(place);
    if (!claimed.ok()) {
      Log(LogLevel::kWarning, "task_claim_failed", {{"error", claimed.status().message()}});
    }
    if (!WaitForWork(seen)) return;
  }
}

bool TaskRunner::FitsPlace(const ClaimedTask& claimed, Place& place) {
  const bool suspect = claimed.task.attempts > 1;
  {
    const std::lock_guard lock(mutex_);
    if (!suspect) {
      if (place == Place::kAlone) lone_ = false;
      place = Place::kShared;
      changed_.notify_all();
      return true;
    }
    if (place == Place::kShared && active_ == 1) {
      lone_ = true;
      place = Place::kAlone;
    }
    if (place == Place::kAlone) return true;
    lone_wanted_ = true;
  }
  const Status status = queue_.store().Release(claimed.lease);
  if (!status.ok()) Log(LogLevel::kWarning, "task_release_failed", {{"error", status.message()}});
  return false;
}

void TaskRunner::BeginRun(const ClaimedTask& claimed, Place place) {
  const auto run = std::make_shared<Run>();
  run->lease = claimed.lease;
  run->alone = place == Place::kAlone;
  const std::string& id = claimed.task.id;
  {
    const std::lock_guard lock(mutex_);
    runs_[id] = run;
  }
  Status status = StartRun(claimed, run);
  if (status.ok()) return;
  {
    const std::lock_guard lock(mutex_);
    run->released = aborting_ || (stopping_ && status.code() == StatusCode::kCancelled && !run->stop);
    run->failed = std::move(status);
  }
  PushEnd(id);
}

Status TaskRunner::StartRun(const ClaimedTask& claimed, const std::shared_ptr<Run>& run) {
  const auto backend = slot_.Get();
  if (backend == nullptr) return Unavailable("the model is not loaded");
  SACCADE_ASSIGN_OR_RETURN(const std::string body, queue_.Body(claimed.task));
  const Json about = TaskQueue::About(claimed.task);
  TaskOrigin origin;
  SACCADE_ASSIGN_OR_RETURN(origin.user, GetStringOr(about, "user", ""));
  SACCADE_ASSIGN_OR_RETURN(origin.cache_scope, GetStringOr(about, "cache_scope", ""));
  SACCADE_ASSIGN_OR_RETURN(const auto execution,
                           TaskExecution::Prepare(backend, body, origin, options_.max_pictures));
  return SubmitPatiently(execution, run);
}

Status TaskRunner::SubmitPatiently(const std::shared_ptr<TaskExecution>& execution,
                                   const std::shared_ptr<Run>& run) {
  {
    const std::lock_guard lock(mutex_);
    run->execution = execution;  // before its end can come
  }
  while (true) {
    const Status status = execution->Submit([this, id = run->lease.id] { PushEnd(id); });
    std::unique_lock lock(mutex_);
    if (status.ok()) {
      if (aborting_ || run->stop) execution->Cancel();
      return status;
    }
    if (status.code() != StatusCode::kResourceExhausted) return status;
    changed_.wait_for(lock, kBusyPause, [this] { return stopping_; });
    if (stopping_ || run->stop) return Cancelled("stopping");
  }
}

void TaskRunner::PushEnd(const std::string& id) {
  const std::lock_guard lock(mutex_);
  ends_.push_back(id);
  changed_.notify_all();
}

void TaskRunner::KeepLoop() {
  auto next_renewal = Clock::now() + options_.renew_every;
  auto next_sweep = Clock::now();
  while (true) {
    std::string ended;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_until(lock, std::min(next_renewal, next_sweep),
                          [this] { return !ends_.empty() || (aborting_ && runs_.empty()); });
      if (ends_.empty() && aborting_ && runs_.empty()) return;
      if (!ends_.empty()) {
        ended = std::move(ends_.front());
        ends_.pop_front();
      }
    }
    if (!ended.empty() && !EndRun(ended)) {
      std::unique_lock lock(mutex_);
      // Stopping with a store that takes nothing: the lease lapses and the task runs again.
      if (aborting_) {
        runs_.erase(ended);
        continue;
      }
      changed_.wait_for(lock, kStorePause, [this] { return aborting_; });
      ends_.push_back(ended);
    }
    const auto now = Clock::now();
    if (now >= next_renewal) {
      next_renewal = now + options_.renew_every;
      RenewLeases();
    }
    if (now >= next_sweep) {
      next_sweep = now + options_.sweep_every;
      const Status swept = queue_.Sweep();
      if (!swept.ok()) Log(LogLevel::kWarning, "task_sweep_failed", {{"error", swept.message()}});
    }
  }
}

bool TaskRunner::EndRun(const std::string& id) {
  Run run;
  {
    const std::lock_guard lock(mutex_);
    const auto found = runs_.find(id);
    if (found == runs_.end()) return true;
    run = *found->second;
    run.released = run.released || aborting_;
  }
  const Status written = WriteEnd(run);
  // kCancelled and kNotFound: cancelled by its owner, or taken over; there is nothing to say any more.
  if (!written.ok() && written.code() != StatusCode::kCancelled && written.code() != StatusCode::kNotFound) {
    Log(LogLevel::kWarning, "task_end_not_stored", {{"task", id}, {"error", written.message()}});
    return false;
  }
  const std::lock_guard lock(mutex_);
  const double seconds =
      std::chrono::duration<double>(Clock::now() - run.started).count() / std::max(1, active_);
  stats_.seconds_per_task = stats_.seconds_per_task == 0
                                ? seconds
                                : (1 - kNewShare) * stats_.seconds_per_task + kNewShare * seconds;
  runs_.erase(id);
  --active_;
  ++ended_;
  if (run.alone) lone_ = false;
  changed_.notify_all();
  return true;
}

Status TaskRunner::WriteEnd(const Run& run) {
  if (!run.failed.ok()) return WriteFailure(run, run.failed);
  const auto outcome = run.execution->Outcome();
  if (!outcome.ok()) return WriteFailure(run, outcome.status());
  SACCADE_RETURN_IF_ERROR(queue_.Finish(run.lease, *outcome));
  const std::lock_guard lock(mutex_);
  ++stats_.finished;
  return OkStatus();
}

Status TaskRunner::WriteFailure(const Run& run, const Status& status) {
  if (run.released) return queue_.store().Release(run.lease);
  const bool retry = MayPass(status.code());
  SACCADE_RETURN_IF_ERROR(queue_.Fail(run.lease, ErrorBody(status), retry));
  const std::lock_guard lock(mutex_);
  ++(retry ? stats_.retried : stats_.failed);
  return OkStatus();
}

void TaskRunner::RenewLeases() {
  std::vector<TaskLease> leases;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, run] : runs_) leases.push_back(run->lease);
  }
  for (const TaskLease& lease : leases) {
    const Status status = queue_.store().Renew(lease, options_.lease_ms, "");
    if (status.code() == StatusCode::kCancelled || status.code() == StatusCode::kNotFound) StopTask(lease.id);
  }
}

}  // namespace saccade
