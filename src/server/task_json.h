// Tasks as JSON: what the routes of one task answer.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "server/task_execution.h"
#include "tasks/task_store.h"

namespace saccade {

// `live` of a running task, when it runs in this process; otherwise its stored progress is told.
// `seconds_per_task` 0: no estimate can be given.
OrderedJson TaskJson(const Task& task, const std::optional<TaskLive>& live, double seconds_per_task);

// Beside TaskJson for lists: without result.
OrderedJson TaskSummaryJson(const Task& task);

// {"stage", "done", "total", "text"}.
OrderedJson LiveJson(const TaskLive& live);

// A stored error, JSON or a sentence, as the object behind "error".
OrderedJson TaskErrorJson(const Task& task);

// Seconds until a task with so many before it has been answered; null when nothing is known.
OrderedJson EtaJson(int64_t position, double seconds_per_task);

// One result line of a batch in OpenAI's format; for tasks that have ended.
OrderedJson BatchLineJson(const Task& task, const std::string& custom_id);

}  // namespace saccade
