// The queue of one server: a store for tasks and, when the store is a file of this machine, a spool for their
// large bodies under the same data directory.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/status.h"
#include "tasks/spool.h"
#include "tasks/task_store.h"

namespace saccade {

struct TaskQueueOptions {
  std::filesystem::path data_directory;  // created when missing
  int64_t max_spool_bytes = int64_t{8} << 30;
  TaskStoreOptions store;
};

// A task before it is accepted. `task.request` is filled in by Submit.
struct TaskSubmission {
  NewTask task;
  std::string body;             // what is to be answered; any size
  Json about = Json::object();  // small facts that stay with the task, also after its end
};

// Thread-safe. Errors are those of TaskStore and Spool.
class TaskQueue {
 public:
  // The only queue on that directory: kUnavailable while another process holds it. What a killed predecessor
  // was running is queued again, what it left in the spool without a task is removed.
  static Result<std::unique_ptr<TaskQueue>> Open(const TaskQueueOptions& options);

  // All of them or none; nothing stays in the spool after an error.
  Result<std::vector<PutOutcome>> Submit(std::span<TaskSubmission> submissions);
  // The body that was submitted; kNotFound after the task has ended.
  Result<std::string> Body(const Task& task) const;
  // As submitted; an empty object when it cannot be read.
  static Json About(const Task& task);

  // As in TaskStore; a task that ended leaves the spool.
  Status Finish(const TaskLease& lease, std::string_view result);
  Status Fail(const TaskLease& lease, std::string_view error, bool retry);
  Result<Task> Cancel(std::string_view id);
  // Also removes the bodies of tasks that expired or were set aside.
  Status Sweep();

  // For everything that ends no task.
  TaskStore& store() { return *store_; }
  int64_t spool_bytes() const { return spool_->used_bytes(); }
  std::vector<std::string> Warnings() const { return spool_->Warnings(); }

 private:
  TaskQueue(Descriptor lock, std::unique_ptr<TaskStore> store, std::unique_ptr<Spool> spool)
      : lock_(std::move(lock)), store_(std::move(store)), spool_(std::move(spool)) {}
  Status RemoveOrphans();
  Status Spooled(std::span<TaskSubmission> submissions);
  void Forget(const std::string& id);

  const Descriptor lock_;  // holds the data directory as long as it is open
  const std::unique_ptr<TaskStore> store_;
  const std::unique_ptr<Spool> spool_;
};

}  // namespace saccade
