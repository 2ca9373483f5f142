#include "server/task_json.h"

#include <cmath>

#include "server/error_reply.h"

namespace saccade {
namespace {

// Seconds since 1970, with milliseconds; null for "not yet".
OrderedJson Time(int64_t ms) { return ms == 0 ? OrderedJson() : OrderedJson(static_cast<double>(ms) / 1000); }

OrderedJson ParsedResult(const Task& task) {
  auto parsed = ParseOrderedJson(task.result);
  return parsed.ok() ? std::move(*parsed) : OrderedJson();
}

OrderedJson AnswerOf(const OrderedJson& result) {
  const auto pointer = OrderedJson::json_pointer("/choices/0/message/content");
  return result.contains(pointer) ? result[pointer] : OrderedJson();
}

}  // namespace

OrderedJson EtaJson(int64_t position, double seconds_per_task) {
  if (seconds_per_task <= 0) return nullptr;
  return std::round(static_cast<double>(position + 1) * seconds_per_task * 1000) / 1000;
}

OrderedJson LiveJson(const TaskLive& live) {
  return {{"stage", live.stage}, {"done", live.done}, {"total", live.total}, {"text", live.text}};
}

OrderedJson TaskErrorJson(const Task& task) {
  if (auto parsed = ParseOrderedJson(task.error); parsed.ok() && parsed->is_object()) {
    if (const auto found = parsed->find("error"); found != parsed->end()) return *found;
  }
  std::string message = task.error;
  if (task.state == TaskState::kExpired) message = "the task had not begun by its deadline";
  if (task.state == TaskState::kCancelled) message = "the task was cancelled";
  const char* code = task.state == TaskState::kExpired     ? "deadline_exceeded"
                     : task.state == TaskState::kCancelled ? "cancelled"
                                                           : "internal";
  return {{"message", std::move(message)}, {"type", "server_error"}, {"param", nullptr}, {"code", code}};
}

OrderedJson TaskSummaryJson(const Task& task) {
  return {{"task_id", task.id},
          {"object", "task"},
          {"status", TaskStateName(task.state)},
          {"priority", task.priority},
          {"attempts", task.attempts},
          {"created_at", Time(task.created_ms)},
          {"started_at", Time(task.started_ms)},
          {"finished_at", Time(task.finished_ms)},
          {"deadline", Time(task.deadline_ms)}};
}

OrderedJson TaskJson(const Task& task, const std::optional<TaskLive>& live, double seconds_per_task) {
  OrderedJson json = TaskSummaryJson(task);
  if (task.state == TaskState::kQueued) {
    json["position"] = task.position;
    json["eta_seconds"] = EtaJson(task.position, seconds_per_task);
  }
  if (task.state == TaskState::kRunning) {
    if (live) {
      json["progress"] = LiveJson(*live);
    } else {
      auto stored = ParseOrderedJson(task.progress);
      json["progress"] = stored.ok() ? std::move(*stored) : LiveJson({});
    }
  }
  if (task.state == TaskState::kDone) {
    OrderedJson result = ParsedResult(task);
    json["answer"] = AnswerOf(result);
    json["result"] = std::move(result);
  }
  if (task.state > TaskState::kDone) json["error"] = TaskErrorJson(task);
  return json;
}

OrderedJson BatchLineJson(const Task& task, const std::string& custom_id) {
  OrderedJson line = {{"id", task.id}, {"custom_id", custom_id}, {"response", nullptr}, {"error", nullptr}};
  if (task.state == TaskState::kDone) {
    line["response"] = {{"status_code", 200}, {"request_id", task.id}, {"body", ParsedResult(task)}};
  } else {
    line["error"] = TaskErrorJson(task);
  }
  return line;
}

}  // namespace saccade
