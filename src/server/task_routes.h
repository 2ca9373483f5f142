// The routes of durable tasks and batches.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "server/backend_slot.h"
#include "server/exchange.h"
#include "server/router.h"
#include "server/server_metrics.h"
#include "server/task_events.h"
#include "server/task_runner.h"
#include "tasks/task_queue.h"

namespace saccade {

struct TaskRouteOptions {
  size_t max_body_bytes = size_t{64} << 20;
  size_t max_pictures = 64;
  TaskRunnerOptions runner;
  TaskEventOptions events;
};

// Thread-safe. Without a queue the routes say how to get one.
class TaskRoutes {
 public:
  // `queue` may be null; `slot` must outlive this object.
  TaskRoutes(std::shared_ptr<TaskQueue> queue, BackendSlot& slot, TaskRouteOptions options);

  // The routes refer to this object.
  void AddTo(Router& router);
  void AddMetrics(ServerMetrics& metrics);

  // Ends event streams and claims nothing more; before the HTTP server drains.
  void StopClaiming();
  // Running tasks may finish for `patience`, the others go back to the queue.
  void Stop(std::chrono::milliseconds patience);

 private:
  using Handler = void (TaskRoutes::*)(const std::shared_ptr<Exchange>&);
  void Add(Router& router, std::string method, std::string pattern, Handler handler,
           size_t max_body_bytes = 0);

  void SubmitTask(const std::shared_ptr<Exchange>& exchange);
  void ShowTask(const std::shared_ptr<Exchange>& exchange);
  void CancelTask(const std::shared_ptr<Exchange>& exchange);
  void ListTasks(const std::shared_ptr<Exchange>& exchange);
  void SubmitBatch(const std::shared_ptr<Exchange>& exchange);
  void ShowBatch(const std::shared_ptr<Exchange>& exchange);
  void CancelBatch(const std::shared_ptr<Exchange>& exchange);
  Result<Task> GetOwn(const HttpRequest& request, const std::string& id);
  Result<int64_t> OwnBatchSize(const HttpRequest& request, const std::string& id);
  void SendBatchResults(Exchange& exchange, const std::string& id, int64_t size);
  OrderedJson BatchJson(const std::string& id, int64_t size);

  const std::shared_ptr<TaskQueue> queue_;
  BackendSlot& slot_;
  const TaskRouteOptions options_;
  std::unique_ptr<TaskRunner> runner_;
  std::unique_ptr<TaskEvents> events_;
};

}  // namespace saccade
