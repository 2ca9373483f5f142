// From the body of POST /api/task, JSON or multipart, and the lines of POST /api/batch to a submission.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "server/chat_backend.h"
#include "server/http.h"
#include "tasks/task_queue.h"

namespace saccade {

struct TaskRequestOptions {
  size_t max_pictures = 64;
  Caller caller;  // whose turn the task uses and, with API keys, who may ask for it
  int64_t now_ms = 0;
};

// Checks everything that can be checked without decoding pictures; with a `backend` also model, context
// length and the pictures' headers. Errors name the field.
Result<TaskSubmission> ParseTaskRequest(std::string_view content_type, std::string_view body,
                                        ChatBackend* backend, const TaskRequestOptions& options);

// One line of a batch in OpenAI's format: custom_id, method, url, body.
Result<TaskSubmission> ParseBatchLine(std::string_view line, ChatBackend* backend,
                                      const TaskRequestOptions& options);

// Who may ask for the caller's tasks: without API keys everybody who knows their ids (empty).
std::string TaskOwner(const Caller& caller);

// JSON Schema of the fields that a task has beside those of a chat request.
OrderedJson TaskFieldsSchema();

}  // namespace saccade
