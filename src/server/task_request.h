// From the body of POST /api/task, JSON or multipart, and the lines of POST /api/batch to a submission.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "server/chat_backend.h"
#include "tasks/task_queue.h"

namespace saccade {

struct TaskRequestOptions {
  size_t max_pictures = 64;
  std::string user;  // whose turn the task uses
  int64_t now_ms = 0;
};

// Checks everything that can be checked without decoding pictures; with a `backend` also model, context
// length and the pictures' headers. Errors name the field.
Result<TaskSubmission> ParseTaskRequest(std::string_view content_type, std::string_view body,
                                        ChatBackend* backend, const TaskRequestOptions& options);

// One line of a batch in OpenAI's format: custom_id, method, url, body.
Result<TaskSubmission> ParseBatchLine(std::string_view line, ChatBackend* backend,
                                      const TaskRequestOptions& options);

// JSON Schema of the fields that a task has beside those of a chat request.
OrderedJson TaskFieldsSchema();

}  // namespace saccade
