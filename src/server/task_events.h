// GET /api/task/{id}/events: what happens to a task as server-sent events until it has ended.
//
// Events: "status" (queued with position, running), "progress" (stage), "text" (a piece of the answer),
// "restart" (the task runs again: forget the text so far), then "done", "failed", "cancelled" or "expired"
// with the whole task. Ids are "<claim>.<bytes of text>": all that is needed to go on after a lost
// connection, so nothing is kept for those who are gone.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "server/exchange.h"
#include "server/task_execution.h"
#include "tasks/task_store.h"

namespace saccade {

struct TaskEventSource {
  std::function<std::optional<TaskLive>(const std::string& id)> live;  // of tasks that run in this process
  std::function<Result<Task>(const std::string& id)> get;
  std::function<double()> seconds_per_task;
};

struct TaskEventOptions {
  std::chrono::milliseconds live_every{50};  // how soon a piece of text is passed on
  std::chrono::milliseconds store_every{
      500};  // how often the store is asked about tasks that do not run here
  std::chrono::milliseconds heartbeat{10'000};
};

// Thread-safe. One thread serves all watchers; it sleeps while there are none.
class TaskEvents {
 public:
  TaskEvents(TaskEventSource source, TaskEventOptions options);
  ~TaskEvents();

  // Begins the stream with what is known of `task`; `last_event_id` as the client sent it, possibly empty.
  void Watch(const std::shared_ptr<Exchange>& exchange, const Task& task, std::string_view last_event_id);
  // Ends all streams; clients come back with the id of their last event. Later calls of Watch end at once.
  void Stop();

 private:
  using Clock = std::chrono::steady_clock;
  struct Watcher;
  void Loop();
  void Look(Watcher& watcher);
  void LookAtLive(Watcher& watcher, const TaskLive& live);
  void LookAtTask(Watcher& watcher, const Task& task);
  void SendText(Watcher& watcher, int64_t claim, const std::string& text);
  void Send(Watcher& watcher, std::string_view event, const OrderedJson& data);

  const TaskEventSource source_;
  const TaskEventOptions options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopping_ = false;
  std::list<std::shared_ptr<Watcher>> watchers_;  // guarded by mutex_; a watcher itself by the thread
  std::thread thread_;
};

}  // namespace saccade
