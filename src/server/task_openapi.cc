#include "server/task_openapi.h"

#include "server/openapi_schema.h"
#include "server/task_request.h"

namespace saccade {
namespace {

using namespace openapi;

J StatusSchema() {
  return {{"type", "string"},
          {"enum", J::array({"queued", "running", "done", "failed", "cancelled", "expired"})}};
}

J ErrorObject() {
  return Object({{"message", Text()}, {"type", Text()}, {"param", OneOfNull(Text())}, {"code", Text()}});
}

J SummaryProperties() {
  return {{"task_id", Text()},
          {"object", {{"const", "task"}}},
          {"status", StatusSchema()},
          {"priority", Integer()},
          {"attempts", Integer()},
          {"created_at", OneOfNull(Number())},
          {"started_at", OneOfNull(Number())},
          {"finished_at", OneOfNull(Number())},
          {"deadline", OneOfNull(Number())}};
}

J TaskSchema() {
  J properties = SummaryProperties();
  properties["position"] = Integer();
  properties["eta_seconds"] = OneOfNull(Number());
  properties["progress"] =
      Object({{"stage", Text()}, {"done", Integer()}, {"total", Integer()}, {"text", Text()}});
  properties["answer"] = OneOfNull(Text());
  properties["result"] = Ref("ChatCompletion");
  properties["error"] = ErrorObject();
  return Object(properties, {"position", "eta_seconds", "progress", "answer", "result", "error"});
}

J BatchSchema() {
  J counts = {{"total", Integer()}};
  for (const auto& status : StatusSchema()["enum"]) counts[status.get<std::string>()] = Integer();
  return Object({{"batch_id", Text()},
                 {"object", {{"const", "batch"}}},
                 {"status", {{"type", "string"}, {"enum", J::array({"in_progress", "completed"})}}},
                 {"counts", Object(counts)}});
}

// Answers of every route that uses the store.
J StoreErrors() {
  return {{"401", ErrorAnswer("the server has API keys and this is none of them")},
          {"429", ErrorAnswer("the key's limits, or too many tasks are queued")},
          {"404", ErrorAnswer("unknown, or its time to live has passed, or the server keeps no tasks")},
          {"503", ErrorAnswer("the store cannot be used now")},
          {"507", ErrorAnswer("the disk is full; nothing was stored")}};
}

J Responses(std::string_view status, J ok, const J& more = J::object()) {
  J responses = {{std::string(status), std::move(ok)}};
  responses.update(StoreErrors());
  responses.update(more);
  return responses;
}

J SubmitErrors() {
  return {{"400", ErrorAnswer("something in the request is wrong; param names it")},
          {"403", ErrorAnswer("sent by a page of another site")},
          {"408", ErrorAnswer("the request took too long to arrive")},
          {"413", ErrorAnswer("the body or the number of pictures is over the limit")},
          {"500", ErrorAnswer("a fault of the server")}};
}

J SubmitTask() {
  const J accepted = Object({{"task_id", Text()},
                             {"status", StatusSchema()},
                             {"position", Integer()},
                             {"eta_seconds", OneOfNull(Number())},
                             {"created", {{"type", "boolean"}}}});
  J body = Content("application/json", Ref("TaskRequest"));
  body["multipart/form-data"] = {
      {"schema", Object({{"question", Text()}, {"image", ListOf({{"type", "string"}, {"format", "binary"}})}},
                        {"image"})}};
  return {{"post",
           {{"summary", "Accept a question for later; it survives restarts"},
            {"requestBody", {{"required", true}, {"content", std::move(body)}}},
            {"responses",
             Responses("202", Answer("accepted, on disk", "application/json", accepted), SubmitErrors())}}}};
}

J WithId(J path) {
  path["parameters"] = J::array({PathParameter("id")});
  return path;
}

J TaskPath() {
  const J task = Answer("the task", "application/json", Ref("Task"));
  return WithId({{"get", {{"summary", "A task"}, {"responses", Responses("200", task)}}},
                 {"delete",
                  {{"summary", "Cancel a task that is queued or running"},
                   {"responses", Responses("200", task, {{"403", ErrorAnswer("another site's page")}})}}}});
}

J EventsPath() {
  const J events = Answer("status, progress, text, restart; then done, failed, cancelled or expired",
                          "text/event-stream", {{"type", "object"}});
  J path = WithId({{"get",
                    {{"summary", "What happens to a task until it has ended; resumes with Last-Event-ID"},
                     {"responses", Responses("200", events)}}}});
  path["parameters"].push_back(
      {{"name", "Last-Event-ID"}, {"in", "header"}, {"required", false}, {"schema", Text()}});
  return path;
}

J ListPath() {
  J counts = J::object();
  for (const auto& status : StatusSchema()["enum"]) counts[status.get<std::string>()] = Integer();
  const J list = Object({{"object", {{"const", "list"}}},
                         {"data", ListOf(Object(SummaryProperties()))},
                         {"next", OneOfNull(Text())},
                         {"counts", Object(counts)}});
  const auto parameter = [](std::string_view name, J schema) {
    return J{{"name", name}, {"in", "query"}, {"required", false}, {"schema", std::move(schema)}};
  };
  J limit = Integer();
  limit["minimum"] = 1;
  limit["maximum"] = 1000;
  return {{"parameters", J::array({parameter("status", StatusSchema()), parameter("limit", limit),
                                   parameter("after", Text())})},
          {"get",
           {{"summary", "Tasks, newest first, in pages"},
            {"responses", Responses("200", Answer("a page", "application/json", list),
                                    {{"400", ErrorAnswer("a parameter is wrong")}})}}}};
}

J BatchPaths() {
  const J batch = Answer("the batch", "application/json", Ref("Batch"));
  const J lines = Answer("a result per line, in OpenAI's batch format", "application/jsonl", Text());
  return {
      {"/api/batch",
       {{"post",
         {{"summary", "Accept many questions, one per line, in OpenAI's batch format; all or none"},
          {"requestBody", {{"required", true}, {"content", Content("text/plain", Text())}}},
          {"responses", Responses("202", Answer("accepted, on disk", "application/json", Ref("Batch")),
                                  SubmitErrors())}}}}},
      {"/api/batch/{id}",
       WithId({{"get", {{"summary", "A batch"}, {"responses", Responses("200", batch)}}},
               {"delete",
                {{"summary", "Cancel what has not ended of a batch"},
                 {"responses", Responses("200", batch, {{"403", ErrorAnswer("another site's page")}})}}}})},
      {"/api/batch/{id}/results", WithId({{"get",
                                           {{"summary", "Results of the lines that have ended"},
                                            {"responses", Responses("200", lines)}}}})}};
}

}  // namespace

OrderedJson TaskPaths() {
  J paths = {{"/api/task", SubmitTask()},
             {"/api/task/{id}", TaskPath()},
             {"/api/task/{id}/events", EventsPath()},
             {"/api/tasks", ListPath()}};
  paths.update(BatchPaths());
  return paths;
}

OrderedJson TaskSchemas(const OrderedJson& chat_request) {
  J request = chat_request;
  const J fields = TaskFieldsSchema();
  for (const auto& [name, property] : fields["properties"].items()) request["properties"][name] = property;
  request.erase("required");
  return {{"TaskRequest", std::move(request)}, {"Task", TaskSchema()}, {"Batch", BatchSchema()}};
}

}  // namespace saccade
