#include "server/task_routes.h"

#include <charconv>
#include <utility>

#include "server/error_reply.h"
#include "server/json_reply.h"
#include "server/task_json.h"
#include "server/task_request.h"

namespace saccade {
namespace {

constexpr int64_t kMaxPage = 1'000;
constexpr int64_t kMaxBatchLines = 50'000;
constexpr std::string_view kEventsSuffix = "/events", kResultsSuffix = "/results";

int64_t NowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

// The value of `name` in "a=1&b=2"; empty when absent. Values of these routes need no percent signs.
std::string_view QueryValue(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const size_t equals = pair.find('=');
    if (equals != std::string_view::npos && pair.substr(0, equals) == name) return pair.substr(equals + 1);
  }
  return {};
}

Result<TaskFilter> FilterFrom(const HttpRequest& http) {
  const std::string_view query = http.query;
  TaskFilter filter;
  filter.owner = TaskOwner(http.caller);
  if (const auto status = QueryValue(query, "status"); !status.empty()) {
    filter.state = TaskStateFromName(status);
    if (!filter.state) {
      return InvalidArgument("status is queued, running, done, failed, cancelled or expired")
          .WithParam("status");
    }
  }
  if (const auto limit = QueryValue(query, "limit"); !limit.empty()) {
    const auto read = std::from_chars(limit.data(), limit.data() + limit.size(), filter.limit);
    const bool whole = read.ec == std::errc() && read.ptr == limit.data() + limit.size();
    if (!whole || filter.limit < 1 || filter.limit > kMaxPage) {
      return InvalidArgument("limit is a whole number from 1 to {}", kMaxPage).WithParam("limit");
    }
  }
  filter.after = QueryValue(query, "after");
  return filter;
}

// "batch_<lines>_<random>": its tasks are "<id>-0" and so on, so that a batch needs no record of its own.
std::string MakeBatchId(size_t lines) {
  return fmt::format("batch_{}_{}", lines, MakeTaskId().substr(std::string_view("task_").size()));
}

Result<int64_t> BatchSize(std::string_view id) {
  constexpr std::string_view kPrefix = "batch_";
  int64_t size = 0;
  if (id.substr(0, kPrefix.size()) == kPrefix) {
    const auto read = std::from_chars(id.data() + kPrefix.size(), id.data() + id.size(), size);
    if (read.ec == std::errc() && size > 0 && size <= kMaxBatchLines) return size;
  }
  return NotFound("there is no batch \"{}\"", id);
}

std::string BatchTaskId(std::string_view batch, int64_t index) { return fmt::format("{}-{}", batch, index); }

// The part of the path before `suffix`; true when it ends so.
bool TakeSuffix(std::string& path, std::string_view suffix) {
  if (path.size() <= suffix.size() || !std::string_view(path).ends_with(suffix)) return false;
  path.resize(path.size() - suffix.size());
  return true;
}

}  // namespace

TaskRoutes::TaskRoutes(std::shared_ptr<TaskQueue> queue, BackendSlot& slot, TaskRouteOptions options)
    : queue_(std::move(queue)), slot_(slot), options_(options) {
  if (queue_ == nullptr) return;
  runner_ = std::make_unique<TaskRunner>(*queue_, slot_, options_.runner);
  events_ = std::make_unique<TaskEvents>(
      TaskEventSource{[this](const std::string& id) { return runner_->Live(id); },
                      [this](const std::string& id) { return queue_->store().Get(id); },
                      [this] { return runner_->Stats().seconds_per_task; }},
      options_.events);
}

void TaskRoutes::Add(Router& router, std::string method, std::string pattern, Handler handler,
                     size_t max_body_bytes) {
  Route route;
  route.method = std::move(method);
  route.pattern = std::move(pattern);
  route.on_worker = true;  // waits for the disk
  route.max_body_bytes = max_body_bytes;
  route.handler = [this, handler](const std::shared_ptr<Exchange>& exchange) {
    if (queue_ == nullptr) {
      exchange->Send(ErrorReply(NotFound("this server keeps no tasks; start it with --data-dir DIR")));
      return;
    }
    (this->*handler)(exchange);
  };
  router.Add(std::move(route));
}

void TaskRoutes::AddTo(Router& router) {
  Add(router, "POST", "/api/task", &TaskRoutes::SubmitTask, options_.max_body_bytes);
  Add(router, "GET", "/api/task/{id}", &TaskRoutes::ShowTask);
  Add(router, "DELETE", "/api/task/{id}", &TaskRoutes::CancelTask);
  Add(router, "GET", "/api/tasks", &TaskRoutes::ListTasks);
  Add(router, "POST", "/api/batch", &TaskRoutes::SubmitBatch, options_.max_body_bytes);
  Add(router, "GET", "/api/batch/{id}", &TaskRoutes::ShowBatch);
  Add(router, "DELETE", "/api/batch/{id}", &TaskRoutes::CancelBatch);
}

void TaskRoutes::StopClaiming() {
  if (queue_ == nullptr) return;
  events_->Stop();
  runner_->StopClaiming();
}

void TaskRoutes::Stop(std::chrono::milliseconds patience) {
  if (runner_) runner_->Stop(patience);
}

void TaskRoutes::SubmitTask(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& http = exchange->request();
  const auto backend = slot_.Get();
  auto submission =
      ParseTaskRequest(http.Header("content-type"), http.body, backend.get(),
                       {.max_pictures = options_.max_pictures, .caller = http.caller, .now_ms = NowMs()});
  if (!submission.ok()) return exchange->Send(ErrorReply(submission.status()));
  auto outcomes = queue_->Submit({&*submission, 1});
  if (!outcomes.ok()) return exchange->Send(ErrorReply(outcomes.status()));
  runner_->Wake();
  const PutOutcome& outcome = outcomes->front();
  const double pace = runner_->Stats().seconds_per_task;
  HttpResponse response = JsonReply({{"task_id", outcome.task.id},
                                     {"status", TaskStateName(outcome.task.state)},
                                     {"position", outcome.task.position},
                                     {"eta_seconds", EtaJson(outcome.task.position, pace)},
                                     {"created", outcome.created}});
  response.status = 202;
  response.headers.emplace_back("location", "/api/task/" + outcome.task.id);
  exchange->Annotate("task", outcome.task.id);
  exchange->Send(std::move(response));
}

// Somebody else's tasks are as unknown as those that do not exist.
Result<Task> TaskRoutes::GetOwn(const HttpRequest& request, const std::string& id) {
  SACCADE_ASSIGN_OR_RETURN(Task task, queue_->store().Get(id));
  if (!task.owner.empty() && task.owner != TaskOwner(request.caller))
    return NotFound("there is no task \"{}\"", id);
  return task;
}

// Lines that are forgotten already tell nothing about the owner; the others have the same one.
Result<int64_t> TaskRoutes::OwnBatchSize(const HttpRequest& request, const std::string& id) {
  SACCADE_ASSIGN_OR_RETURN(const int64_t size, BatchSize(id));
  for (int64_t i = 0; i < size; ++i) {
    if (!queue_->store().GetState(BatchTaskId(id, i)).ok()) continue;
    SACCADE_RETURN_IF_ERROR(GetOwn(request, BatchTaskId(id, i)).status());
    return size;
  }
  return NotFound("there is no batch \"{}\"", id);
}

void TaskRoutes::ShowTask(const std::shared_ptr<Exchange>& exchange) {
  std::string id = exchange->request().path_tail;
  const bool events = TakeSuffix(id, kEventsSuffix);
  // Before the store is asked: a task that ends in between is then told as ended.
  const auto live = runner_->Live(id);
  const auto task = GetOwn(exchange->request(), id);
  if (!task.ok()) return exchange->Send(ErrorReply(task.status()));
  if (events) return events_->Watch(exchange, *task, exchange->request().Header("last-event-id"));
  exchange->Send(JsonReply(TaskJson(*task, live, runner_->Stats().seconds_per_task)));
}

void TaskRoutes::CancelTask(const std::shared_ptr<Exchange>& exchange) {
  const std::string& id = exchange->request().path_tail;
  const auto own = GetOwn(exchange->request(), id);
  const auto task = own.ok() ? queue_->Cancel(id) : own;
  if (!task.ok()) return exchange->Send(ErrorReply(task.status()));
  runner_->StopTask(id);
  exchange->Send(JsonReply(TaskJson(*task, std::nullopt, 0)));
}

void TaskRoutes::ListTasks(const std::shared_ptr<Exchange>& exchange) {
  const auto filter = FilterFrom(exchange->request());
  if (!filter.ok()) return exchange->Send(ErrorReply(filter.status()));
  const auto page = queue_->store().List(*filter);
  if (!page.ok()) return exchange->Send(ErrorReply(page.status()));
  const auto counts = queue_->store().Counts();
  if (!counts.ok()) return exchange->Send(ErrorReply(counts.status()));
  OrderedJson list = OrderedJson::array(), count_json = OrderedJson::object();
  for (const Task& task : page->tasks) list.push_back(TaskSummaryJson(task));
  for (int i = 0; i < kTaskStates; ++i) {
    count_json[std::string(TaskStateName(static_cast<TaskState>(i)))] = counts->of[i];
  }
  exchange->Send(JsonReply({{"object", "list"},
                            {"data", std::move(list)},
                            {"next", page->next.empty() ? OrderedJson() : OrderedJson(page->next)},
                            {"counts", std::move(count_json)}}));
}

void TaskRoutes::SubmitBatch(const std::shared_ptr<Exchange>& exchange) {
  const HttpRequest& http = exchange->request();
  const auto backend = slot_.Get();
  const TaskRequestOptions options{
      .max_pictures = options_.max_pictures, .caller = http.caller, .now_ms = NowMs()};
  std::vector<TaskSubmission> submissions;
  std::string_view rest = http.body;
  for (int64_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (static_cast<int64_t>(submissions.size()) == kMaxBatchLines) {
      return exchange->Send(ErrorReply(TooLarge("a batch has at most {} lines", kMaxBatchLines)));
    }
    auto submission = ParseBatchLine(line, backend.get(), options);
    if (!submission.ok()) {
      return exchange->Send(
          ErrorReply(std::move(submission).status().WithContext(fmt::format("line {}", number))));
    }
    submissions.push_back(std::move(*submission));
  }
  if (submissions.empty()) return exchange->Send(ErrorReply(InvalidArgument("the batch has no lines")));
  const std::string id = MakeBatchId(submissions.size());
  for (size_t i = 0; i < submissions.size(); ++i) {
    submissions[i].task.id = BatchTaskId(id, static_cast<int64_t>(i));
    submissions[i].task.idempotency_key.clear();  // the lines of a batch are that batch's own
  }
  const auto outcomes = queue_->Submit(submissions);
  if (!outcomes.ok()) return exchange->Send(ErrorReply(outcomes.status()));
  runner_->Wake();
  HttpResponse response = JsonReply(BatchJson(id, static_cast<int64_t>(submissions.size())));
  response.status = 202;
  response.headers.emplace_back("location", "/api/batch/" + id);
  exchange->Send(std::move(response));
}

OrderedJson TaskRoutes::BatchJson(const std::string& id, int64_t size) {
  int64_t of[kTaskStates] = {}, forgotten = 0;
  for (int64_t i = 0; i < size; ++i) {
    const auto state = queue_->store().GetState(BatchTaskId(id, i));
    state.ok() ? ++of[static_cast<int>(*state)] : ++forgotten;
  }
  if (forgotten == size) return nullptr;
  const int64_t open = of[0] + of[1];
  OrderedJson counts = {{"total", size}};
  for (int i = 0; i < kTaskStates; ++i) {
    counts[std::string(TaskStateName(static_cast<TaskState>(i)))] = of[i];
  }
  return {{"batch_id", id},
          {"object", "batch"},
          {"status", open > 0 ? "in_progress" : "completed"},
          {"counts", std::move(counts)}};
}

void TaskRoutes::ShowBatch(const std::shared_ptr<Exchange>& exchange) {
  std::string id = exchange->request().path_tail;
  const bool results = TakeSuffix(id, kResultsSuffix);
  const auto size = OwnBatchSize(exchange->request(), id);
  if (!size.ok()) return exchange->Send(ErrorReply(size.status()));
  if (results) return SendBatchResults(*exchange, id, *size);
  OrderedJson json = BatchJson(id, *size);
  exchange->Send(json.is_null() ? ErrorReply(NotFound("there is no batch \"{}\"", id)) : JsonReply(json));
}

// The lines of the tasks that have ended, in the order in which they were sent.
void TaskRoutes::SendBatchResults(Exchange& exchange, const std::string& id, int64_t size) {
  HttpResponse response;
  response.content_type = "application/jsonl";
  bool known = false;
  for (int64_t i = 0; i < size; ++i) {
    const auto state = queue_->store().GetState(BatchTaskId(id, i));
    known = known || state.ok();
    if (!state.ok() || !IsFinal(*state)) continue;
    const auto task = queue_->store().Get(BatchTaskId(id, i));
    if (!task.ok()) continue;
    const Json about = TaskQueue::About(*task);
    response.body += DumpJson(BatchLineJson(*task, about.value("custom_id", ""))) + "\n";
  }
  exchange.Send(known ? std::move(response) : ErrorReply(NotFound("there is no batch \"{}\"", id)));
}

void TaskRoutes::CancelBatch(const std::shared_ptr<Exchange>& exchange) {
  const std::string& id = exchange->request().path_tail;
  const auto size = OwnBatchSize(exchange->request(), id);
  if (!size.ok()) return exchange->Send(ErrorReply(size.status()));
  for (int64_t i = 0; i < *size; ++i) {
    const std::string task = BatchTaskId(id, i);
    const auto state = queue_->store().GetState(task);
    if (!state.ok() || IsFinal(*state)) continue;
    if (queue_->Cancel(task).ok()) runner_->StopTask(task);
  }
  OrderedJson json = BatchJson(id, *size);
  exchange->Send(json.is_null() ? ErrorReply(NotFound("there is no batch \"{}\"", id)) : JsonReply(json));
}

void TaskRoutes::AddMetrics(ServerMetrics& metrics) {
  if (queue_ == nullptr) return;
  const auto count = [this](TaskState state) {
    const auto counts = queue_->store().Counts();
    return counts.ok() ? static_cast<double>((*counts)[state]) : 0.0;
  };
  metrics.Watch("saccade_tasks_queued", "Tasks that wait.", "gauge",
                [count] { return count(TaskState::kQueued); });
  metrics.Watch("saccade_tasks_running", "Tasks that are being answered.", "gauge",
                [count] { return count(TaskState::kRunning); });
  metrics.Watch("saccade_tasks_in_flight", "Tasks that this process has claimed.", "gauge",
                [this] { return static_cast<double>(runner_->Stats().in_flight); });
  metrics.Watch("saccade_tasks_finished_total", "Attempts at tasks that gave a result.", "counter",
                [this] { return static_cast<double>(runner_->Stats().finished); });
  metrics.Watch("saccade_tasks_failed_total", "Attempts at tasks that failed for good.", "counter",
                [this] { return static_cast<double>(runner_->Stats().failed); });
  metrics.Watch("saccade_tasks_retried_total", "Attempts at tasks that failed and are repeated.", "counter",
                [this] { return static_cast<double>(runner_->Stats().retried); });
  metrics.Watch("saccade_task_seconds", "Time per task of late, side by side ones shared.", "gauge",
                [this] { return runner_->Stats().seconds_per_task; });
  metrics.Watch("saccade_task_spool_bytes", "Bodies of tasks that have not ended, on disk.", "gauge",
                [this] { return static_cast<double>(queue_->spool_bytes()); });
}

}  // namespace saccade
