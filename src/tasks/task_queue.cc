#include "tasks/task_queue.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <cstring>
#include <set>

#include "base/log.h"

namespace saccade {
namespace {

// Bodies up to this size lie in the database: a file of their own would cost more than they do.
constexpr size_t kMaxInlineBytes = size_t{16} << 10;
constexpr int64_t kPage = 1'000;

Result<Descriptor> LockDirectory(const std::filesystem::path& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return Unavailable("cannot create {}: {}", directory.string(), error.message());
  const std::filesystem::path path = directory / "lock";
  Descriptor file(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.ok()) return Unavailable("cannot open {}: {}", path.string(), std::strerror(errno));
  // The kernel lets go of it whichever way the process ends.
  if (flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    return Unavailable("another server uses the data directory {}; give this one another --data-dir",
                       directory.string());
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<TaskQueue>> TaskQueue::Open(const TaskQueueOptions& options) {
  SACCADE_ASSIGN_OR_RETURN(Descriptor lock, LockDirectory(options.data_directory));
  TaskStoreOptions store_options = options.store;
  store_options.sole_owner = true;
  SACCADE_ASSIGN_OR_RETURN(auto store, OpenSqliteTaskStore((options.data_directory / "tasks.db").string(),
                                                           std::move(store_options)));
  SACCADE_ASSIGN_OR_RETURN(auto spool,
                           Spool::Open({options.data_directory / "spool", options.max_spool_bytes}));
  std::unique_ptr<TaskQueue> queue(new TaskQueue(std::move(lock), std::move(store), std::move(spool)));
  SACCADE_RETURN_IF_ERROR(queue->RemoveOrphans());
  return queue;
}

Status TaskQueue::RemoveOrphans() {
  SACCADE_RETURN_IF_ERROR(Sweep());  // nothing runs now: every task that lives is queued
  std::set<std::string> live;
  TaskFilter filter{.state = TaskState::kQueued, .limit = kPage};
  do {
    SACCADE_ASSIGN_OR_RETURN(const TaskPage page, store_->List(filter));
    for (const Task& task : page.tasks) live.insert(task.id);
    filter.after = page.next;
  } while (!filter.after.empty());
  return spool_->RemoveOrphans([&](const std::string& id) { return live.count(id) != 0; }).status();
}

Status TaskQueue::Spooled(std::span<TaskSubmission> submissions) {
  for (TaskSubmission& submission : submissions) {
    Json request = {{"about", submission.about}};
    if (submission.body.size() <= kMaxInlineBytes) {
      request["body"] = submission.body;
    } else {
      SACCADE_ASSIGN_OR_RETURN(request["spool"], spool_->Add(submission.task.id, submission.body));
    }
    submission.task.request = request.dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  return OkStatus();
}

Result<std::vector<PutOutcome>> TaskQueue::Submit(std::span<TaskSubmission> submissions) {
  Status status = Spooled(submissions);
  std::vector<PutOutcome> outcomes;
  if (status.ok()) {
    std::vector<NewTask> tasks;
    for (const TaskSubmission& submission : submissions) tasks.push_back(submission.task);
    auto put = store_->PutAll(tasks);
    status = put.status();
    if (put.ok()) outcomes = std::move(*put);
  }
  for (size_t i = 0; i < submissions.size(); ++i) {
    if (!status.ok() || !outcomes[i].created) Forget(submissions[i].task.id);
  }
  if (!status.ok()) return status;
  return outcomes;
}

Result<std::string> TaskQueue::Body(const Task& task) const {
  SACCADE_ASSIGN_OR_RETURN(const Json request, ParseJson(task.request));
  SACCADE_ASSIGN_OR_RETURN(std::optional<std::string> body, FindString(request, "body"));
  if (body) return std::move(*body);
  SACCADE_ASSIGN_OR_RETURN(const std::string name, GetString(request, "spool"));
  return spool_->Read(name);
}

Json TaskQueue::About(const Task& task) {
  const auto request = ParseJson(task.request);
  if (!request.ok()) return Json::object();
  const auto about = FindObject(*request, "about");
  return about.ok() && *about != nullptr ? **about : Json::object();
}

// A body that cannot be removed is an orphan that the next start removes.
void TaskQueue::Forget(const std::string& id) {
  const Status status = spool_->RemoveTask(id);
  if (!status.ok()) Log(LogLevel::kWarning, "spool_not_cleaned", {{"task", id}, {"error", status.message()}});
}

Status TaskQueue::Finish(const TaskLease& lease, std::string_view result) {
  SACCADE_RETURN_IF_ERROR(store_->Finish(lease, result));
  Forget(lease.id);
  return OkStatus();
}

Status TaskQueue::Fail(const TaskLease& lease, std::string_view error, bool retry) {
  SACCADE_RETURN_IF_ERROR(store_->Fail(lease, error, retry));
  if (!retry) {
    Forget(lease.id);
    return OkStatus();
  }
  SACCADE_ASSIGN_OR_RETURN(const Task task, store_->Get(lease.id));
  if (IsFinal(task.state)) Forget(lease.id);
  return OkStatus();
}

Result<Task> TaskQueue::Cancel(std::string_view id) {
  SACCADE_ASSIGN_OR_RETURN(Task task, store_->Cancel(id));
  if (IsFinal(task.state)) Forget(task.id);
  return task;
}

Status TaskQueue::Sweep() {
  const Status status = store_->Sweep();
  for (const std::string& id : store_->TakeEnded()) Forget(id);
  return status;
}

}  // namespace saccade
