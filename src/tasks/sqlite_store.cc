// The store of one machine: one SQLite file in WAL mode, every transition one transaction. Counts and
// positions are kept by triggers (sqlite_schema.h), so that a full queue costs no more than an empty one.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <utility>

#include "tasks/sqlite.h"
#include "tasks/sqlite_schema.h"
#include "tasks/task_store.h"

namespace saccade {
namespace {

// How long a statement waits for another process that holds the file.
constexpr int kBusyTimeoutMs = 5'000;
constexpr int64_t kMaxPage = 1'000;
// Doublings of the retry delay; more would outlast any day.
constexpr int64_t kMaxDoublings = 10;

#define SACCADE_TASK_COLUMNS                                                                               \
  "id, state, rank, deadline, created, started, finished, attempts, progress, result, error, seq, token, " \
  "owner"

int64_t SystemNowMs() {
  using namespace std::chrono;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

Task ReadTask(const SqliteQuery& row) {
  Task task;
  task.id = row.Text(0);
  task.state = static_cast<TaskState>(row.Int(1));
  task.priority = -row.Int(2);
  task.deadline_ms = row.Int(3);
  task.created_ms = row.Int(4);
  task.started_ms = row.Int(5);
  task.finished_ms = row.Int(6);
  task.attempts = row.Int(7);
  task.progress = row.Text(8);
  task.result = row.Text(9);
  task.error = row.Text(10);
  task.claims = row.Int(12);
  task.owner = row.Text(13);
  return task;
}

Status VoidLease(const TaskLease& lease) {
  return Cancelled("attempt {} of task {} is no longer held: it ended or was taken over", lease.attempt,
                   lease.id);
}

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

class SqliteTaskStore : public TaskStore {
 public:
  SqliteTaskStore(Database database, TaskStoreOptions options)
      : database_(std::move(database)), options_(std::move(options)) {
    if (!options_.now_ms) options_.now_ms = SystemNowMs;
  }

  Result<std::vector<PutOutcome>> PutAll(std::span<const NewTask> tasks) override {
    const std::lock_guard lock(mutex_);
    SqliteTransaction transaction(db());
    SACCADE_RETURN_IF_ERROR(transaction.begun());
    std::vector<PutOutcome> outcomes;
    for (const NewTask& task : tasks) {
      SACCADE_ASSIGN_OR_RETURN(PutOutcome outcome, PutOne(task));
      outcomes.push_back(std::move(outcome));
    }
    SACCADE_RETURN_IF_ERROR(transaction.Commit());
    return outcomes;
  }

  Result<std::optional<ClaimedTask>> Claim(int64_t lease_ms) override {
    const std::lock_guard lock(mutex_);
    SqliteTransaction transaction(db());
    SACCADE_RETURN_IF_ERROR(transaction.begun());
    std::vector<std::string> ended;
    SACCADE_RETURN_IF_ERROR(TakeOverAndExpire(ended));
    const int64_t now = options_.now_ms();
    std::optional<ClaimedTask> claimed;
    {
      SqliteQuery next(db(),
                       "UPDATE tasks SET state = 1, started = ?, lease_until = ?, attempts = attempts + 1, "
                       "token = token + 1, progress = '' WHERE seq = (SELECT seq FROM tasks WHERE state = 0 "
                       "AND not_before <= ? ORDER BY rank, seq LIMIT 1) RETURNING " SACCADE_TASK_COLUMNS
                       ", request");
      SACCADE_ASSIGN_OR_RETURN(const bool found, next.Bind(now).Bind(now + lease_ms).Bind(now).Step());
      if (found) {
        claimed = ClaimedTask{ReadTask(next), {next.Text(0), next.Int(12)}};
        claimed->task.request = next.Text(14);
        SACCADE_RETURN_IF_ERROR(next.Run());
      }
    }
    SACCADE_RETURN_IF_ERROR(transaction.Commit());
    ended_.insert(ended_.end(), ended.begin(), ended.end());
    return claimed;
  }

  Status Renew(const TaskLease& lease, int64_t lease_ms, std::string_view progress) override {
    const std::lock_guard lock(mutex_);
    SqliteQuery update(db(),
                       "UPDATE tasks SET lease_until = ?, progress = CASE ? WHEN '' THEN progress ELSE ? END "
                       "WHERE id = ? AND token = ? AND state = 1");
    return RunHeld(update.Bind(options_.now_ms() + lease_ms)
                       .Bind(progress)
                       .Bind(progress)
                       .Bind(lease.id)
                       .Bind(lease.attempt),
                   lease);
  }

  Status Finish(const TaskLease& lease, std::string_view result) override {
    const std::lock_guard lock(mutex_);
    SqliteQuery update(db(),
                       "UPDATE tasks SET state = 2, finished = ?, progress = '', result = ? "
                       "WHERE id = ? AND token = ? AND state = 1");
    return RunHeld(update.Bind(options_.now_ms()).Bind(result).Bind(lease.id).Bind(lease.attempt), lease);
  }

  Status Fail(const TaskLease& lease, std::string_view error, bool retry) override {
    const std::lock_guard lock(mutex_);
    const int64_t now = options_.now_ms();
    SqliteQuery update(
        db(),
        "UPDATE tasks SET state = CASE WHEN ?1 AND attempts < ?2 THEN 0 ELSE 3 END, "
        "finished = CASE WHEN ?1 AND attempts < ?2 THEN 0 ELSE ?3 END, progress = '', error = ?4, "
        "not_before = ?3 + (?5 << min(attempts - 1, ?6)) WHERE id = ?7 AND token = ?8 AND state = 1");
    update.Bind(int64_t{retry}).Bind(options_.max_attempts).Bind(now).Bind(error);
    update.Bind(options_.retry_delay_ms).Bind(kMaxDoublings).Bind(lease.id).Bind(lease.attempt);
    return RunHeld(update, lease);
  }

  Status Release(const TaskLease& lease) override {
    const std::lock_guard lock(mutex_);
    SqliteQuery update(db(),
                       "UPDATE tasks SET state = 0, attempts = attempts - 1, progress = '' "
                       "WHERE id = ? AND token = ? AND state = 1");
    return RunHeld(update.Bind(lease.id).Bind(lease.attempt), lease);
  }

  Result<Task> Cancel(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    SqliteQuery update(db(),
                       "UPDATE tasks SET state = 4, finished = ?, progress = '' WHERE id = ? AND state <= 1");
    SACCADE_RETURN_IF_ERROR(update.Bind(options_.now_ms()).Bind(id).Run());
    return Find(id);
  }

  Status Sweep() override {
    const std::lock_guard lock(mutex_);
    SqliteTransaction transaction(db());
    SACCADE_RETURN_IF_ERROR(transaction.begun());
    std::vector<std::string> ended;
    SACCADE_RETURN_IF_ERROR(TakeOverAndExpire(ended));
    SqliteQuery forget(db(), "DELETE FROM tasks WHERE state >= 2 AND finished + ttl <= ?");
    SACCADE_RETURN_IF_ERROR(forget.Bind(options_.now_ms()).Run());
    SACCADE_RETURN_IF_ERROR(transaction.Commit());
    ended_.insert(ended_.end(), ended.begin(), ended.end());
    return OkStatus();
  }

  std::vector<std::string> TakeEnded() override {
    const std::lock_guard lock(mutex_);
    return std::exchange(ended_, {});
  }

  // All leases lapse now.
  Status LapseLeases() {
    const std::lock_guard lock(mutex_);
    return SqliteQuery(db(), "UPDATE tasks SET lease_until = 0 WHERE state = 1").Run();
  }

  Result<Task> Get(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    return Find(id);
  }

  Result<TaskState> GetState(std::string_view id) override {
    const std::lock_guard lock(mutex_);
    SqliteQuery query(db(), "SELECT state FROM tasks WHERE id = ?");
    SACCADE_ASSIGN_OR_RETURN(const bool found, query.Bind(id).Step());
    if (!found) return NotFound("there is no task \"{}\"", id);
    return static_cast<TaskState>(query.Int(0));
  }

  Result<TaskPage> List(const TaskFilter& filter) override {
    int64_t before = INT64_MAX;
    for (const char c : filter.after) {
      if (c < '0' || c > '9' || filter.after.size() > 18) {
        return InvalidArgument("not a page of this list").WithParam("after");
      }
    }
    if (!filter.after.empty()) before = std::stoll(filter.after);
    const int64_t limit = std::clamp<int64_t>(filter.limit, 1, kMaxPage);
    const std::lock_guard lock(mutex_);
    std::string sql = "SELECT " SACCADE_TASK_COLUMNS " FROM tasks WHERE seq < ?";
    if (filter.state) sql += " AND state = ?";
    if (!filter.owner.empty()) sql += " AND owner = ?";
    SqliteQuery rows(db(), sql + " ORDER BY seq DESC LIMIT ?");
    rows.Bind(before);
    if (filter.state) rows.Bind(static_cast<int64_t>(*filter.state));
    if (!filter.owner.empty()) rows.Bind(filter.owner);
    rows.Bind(limit + 1);
    TaskPage page;
    int64_t last = 0;
    while (true) {
      SACCADE_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return page;
      if (static_cast<int64_t>(page.tasks.size()) == limit) {
        page.next = std::to_string(last);
        return page;
      }
      page.tasks.push_back(ReadTask(rows));
      last = rows.Int(11);
    }
  }

  Result<TaskCounts> Counts() override {
    const std::lock_guard lock(mutex_);
    return CountAll();
  }

 private:
  sqlite3* db() const { return database_.get(); }

  // Within a transaction.
  Result<PutOutcome> PutOne(const NewTask& task) {
    if (!task.idempotency_key.empty()) {
      SqliteQuery known(db(), "SELECT id FROM tasks WHERE key = ?");
      SACCADE_ASSIGN_OR_RETURN(const bool found, known.Bind(task.idempotency_key).Step());
      if (found) {
        SACCADE_ASSIGN_OR_RETURN(Task earlier, Find(known.Text(0)));
        return PutOutcome{std::move(earlier), false};
      }
    }
    SACCADE_ASSIGN_OR_RETURN(const TaskCounts counts, CountAll());
    if (counts[TaskState::kQueued] >= options_.max_queued) {
      return ResourceExhausted("{} tasks are queued, the limit; try again later", options_.max_queued);
    }
    SqliteQuery insert(db(),
                       "INSERT INTO tasks (id, request, rank, deadline, ttl, created, owner, key) VALUES (?, "
                       "?, ?, ?, ?, ?, ?, ?)");
    insert.Bind(task.id).Bind(task.request).Bind(-task.priority).Bind(task.deadline_ms);
    insert.Bind(task.ttl_ms > 0 ? task.ttl_ms : options_.result_ttl_ms).Bind(options_.now_ms());
    insert.Bind(task.owner);
    if (task.idempotency_key.empty()) {
      insert.BindNull();
    } else {
      insert.Bind(task.idempotency_key);
    }
    SACCADE_RETURN_IF_ERROR(insert.Run());
    SACCADE_ASSIGN_OR_RETURN(Task stored, Find(task.id));
    return PutOutcome{std::move(stored), true};
  }

  Status RunHeld(SqliteQuery& update, const TaskLease& lease) {
    SACCADE_RETURN_IF_ERROR(update.Run());
    return sqlite3_changes(db()) == 1 ? OkStatus() : VoidLease(lease);
  }

  Result<Task> Find(std::string_view id) {
    SqliteQuery query(db(), "SELECT " SACCADE_TASK_COLUMNS ", request FROM tasks WHERE id = ?");
    SACCADE_ASSIGN_OR_RETURN(const bool found, query.Bind(id).Step());
    if (!found) return NotFound("there is no task \"{}\"", id);
    Task task = ReadTask(query);
    task.request = query.Text(14);
    if (task.state == TaskState::kQueued) {
      SqliteQuery before(
          db(),
          "SELECT (SELECT coalesce(sum(n), 0) FROM stretches WHERE (rank, stretch) < (?1, ?2 / ?3)) "
          "+ (SELECT count(*) FROM tasks WHERE state = 0 AND rank = ?1 AND seq < ?2 "
          "AND seq >= ?2 / ?3 * ?3)");
      before.Bind(query.Int(2)).Bind(query.Int(11)).Bind(kTasksPerStretch);
      SACCADE_RETURN_IF_ERROR(before.Step().status());
      task.position = before.Int(0);
    }
    return task;
  }

  Result<TaskCounts> CountAll() {
    SqliteQuery rows(db(), "SELECT state, n FROM counts");
    TaskCounts counts;
    while (true) {
      SACCADE_ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) return counts;
      counts.of[rows.Int(0)] = rows.Int(1);
    }
  }

  // Within a transaction. Appends what was expired or set aside.
  Status TakeOverAndExpire(std::vector<std::string>& ended) {
    const int64_t now = options_.now_ms();
    SqliteQuery set_aside(db(),
                          "UPDATE tasks SET state = 3, finished = ?1, progress = '', error = 'the task was "
                          "set aside: its worker stopped ' || attempts || ' times while running it' "
                          "WHERE state = 1 AND lease_until <= ?1 AND attempts >= ?2 RETURNING id");
    SACCADE_RETURN_IF_ERROR(AppendIds(set_aside.Bind(now).Bind(options_.max_attempts), ended));
    // Later, and behind those that stopped nothing: a server that is killed again and again does not take the
    // same tasks with it every time.
    SqliteQuery again(
        db(),
        "UPDATE tasks SET state = 0, progress = '', not_before = ?1 + (?2 << min(3 * (attempts - 1), ?3)) "
        "WHERE state = 1 AND lease_until <= ?1");
    SACCADE_RETURN_IF_ERROR(again.Bind(now).Bind(options_.retry_delay_ms).Bind(kMaxDoublings).Run());
    SqliteQuery expire(db(),
                       "UPDATE tasks SET state = 5, finished = ?1 "
                       "WHERE state = 0 AND deadline > 0 AND deadline <= ?1 RETURNING id");
    return AppendIds(expire.Bind(now), ended);
  }

  static Status AppendIds(SqliteQuery& query, std::vector<std::string>& ids) {
    while (true) {
      SACCADE_ASSIGN_OR_RETURN(const bool row, query.Step());
      if (!row) return OkStatus();
      ids.push_back(query.Text(0));
    }
  }

  std::mutex mutex_;
  const Database database_;  // guarded by mutex_
  TaskStoreOptions options_;
  std::vector<std::string> ended_;  // guarded by mutex_
};

Status Configure(sqlite3* database, int64_t max_bytes) {
  sqlite3_busy_timeout(database, kBusyTimeoutMs);
  SACCADE_RETURN_IF_ERROR(SqliteQuery(database, "PRAGMA journal_mode = WAL").Run());
  // FULL: an accepted task survives a power cut, not only a crash of the process.
  SACCADE_RETURN_IF_ERROR(SqliteQuery(database, "PRAGMA synchronous = FULL").Run());
  SACCADE_RETURN_IF_ERROR(PrepareTaskSchema(database));
  if (max_bytes > 0) {
    SqliteQuery page(database, "PRAGMA page_size");
    SACCADE_RETURN_IF_ERROR(page.Step().status());
    const std::string limit = fmt::format("PRAGMA max_page_count = {}", max_bytes / page.Int(0) + 1);
    SACCADE_RETURN_IF_ERROR(SqliteQuery(database, limit).Run());
  }
  return OkStatus();
}

}  // namespace

Result<std::unique_ptr<TaskStore>> OpenSqliteTaskStore(const std::string& path, TaskStoreOptions options,
                                                       int64_t max_bytes) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(
      path.c_str(), &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX, nullptr);
  Database database(opened);
  if (code != SQLITE_OK) return Unavailable("cannot open the task store {}: {}", path, sqlite3_errstr(code));
  SACCADE_RETURN_IF_ERROR(Configure(database.get(), max_bytes).WithContext(path));
  const bool sole_owner = options.sole_owner;
  auto store = std::make_unique<SqliteTaskStore>(std::move(database), std::move(options));
  if (sole_owner) SACCADE_RETURN_IF_ERROR(store->LapseLeases());
  return std::unique_ptr<TaskStore>(std::move(store));
}

}  // namespace saccade
