#include "tasks/sqlite_schema.h"

#include "tasks/sqlite.h"

namespace saccade {
namespace {

// 0: files from before versions were kept, with or without the column owner. 1: owner, stretches.
constexpr int64_t kVersion = 1;

// What version 0 began with.
constexpr const char* kTables = R"sql(
CREATE TABLE IF NOT EXISTS tasks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL DEFAULT 0,
  request TEXT NOT NULL, key TEXT UNIQUE, rank INTEGER NOT NULL, deadline INTEGER NOT NULL,
  ttl INTEGER NOT NULL, created INTEGER NOT NULL, not_before INTEGER NOT NULL DEFAULT 0,
  started INTEGER NOT NULL DEFAULT 0, finished INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL DEFAULT 0, progress TEXT NOT NULL DEFAULT '', result TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS queued ON tasks (rank, seq, not_before) WHERE state = 0;
CREATE INDEX IF NOT EXISTS deadlines ON tasks (deadline) WHERE state = 0 AND deadline > 0;
CREATE INDEX IF NOT EXISTS leases ON tasks (lease_until) WHERE state = 1;
CREATE INDEX IF NOT EXISTS ended ON tasks (finished + ttl) WHERE state >= 2;
CREATE INDEX IF NOT EXISTS states ON tasks (state, seq);
CREATE TABLE IF NOT EXISTS counts (state INTEGER PRIMARY KEY, n INTEGER NOT NULL);
INSERT OR IGNORE INTO counts VALUES (0,0),(1,0),(2,0),(3,0),(4,0),(5,0);
CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON tasks BEGIN
  UPDATE counts SET n = n + 1 WHERE state = NEW.state; END;
CREATE TRIGGER IF NOT EXISTS removed AFTER DELETE ON tasks BEGIN
  UPDATE counts SET n = n - 1 WHERE state = OLD.state; END;
CREATE TRIGGER IF NOT EXISTS moved AFTER UPDATE OF state ON tasks WHEN OLD.state <> NEW.state BEGIN
  UPDATE counts SET n = n - 1 WHERE state = OLD.state;
  UPDATE counts SET n = n + 1 WHERE state = NEW.state; END;
)sql";

constexpr const char* kOwner = "ALTER TABLE tasks ADD COLUMN owner TEXT NOT NULL DEFAULT ''";

// {0} is kTasksPerStretch. Queued tasks by rank and stretch, kept by triggers and begun from what is queued.
constexpr std::string_view kStretches = R"sql(
CREATE INDEX IF NOT EXISTS owners ON tasks (owner, seq);
CREATE TABLE stretches (rank INTEGER NOT NULL, stretch INTEGER NOT NULL, n INTEGER NOT NULL,
  PRIMARY KEY (rank, stretch)) WITHOUT ROWID;
INSERT INTO stretches SELECT rank, seq / {0}, count(*) FROM tasks WHERE state = 0 GROUP BY 1, 2;
CREATE TRIGGER stretch_added AFTER INSERT ON tasks WHEN NEW.state = 0 BEGIN
  INSERT OR IGNORE INTO stretches VALUES (NEW.rank, NEW.seq / {0}, 0);
  UPDATE stretches SET n = n + 1 WHERE rank = NEW.rank AND stretch = NEW.seq / {0}; END;
CREATE TRIGGER stretch_returned AFTER UPDATE OF state ON tasks WHEN OLD.state <> 0 AND NEW.state = 0 BEGIN
  INSERT OR IGNORE INTO stretches VALUES (NEW.rank, NEW.seq / {0}, 0);
  UPDATE stretches SET n = n + 1 WHERE rank = NEW.rank AND stretch = NEW.seq / {0}; END;
CREATE TRIGGER stretch_left AFTER UPDATE OF state ON tasks WHEN OLD.state = 0 AND NEW.state <> 0 BEGIN
  UPDATE stretches SET n = n - 1 WHERE rank = OLD.rank AND stretch = OLD.seq / {0};
  DELETE FROM stretches WHERE rank = OLD.rank AND stretch = OLD.seq / {0} AND n = 0; END;
CREATE TRIGGER stretch_removed AFTER DELETE ON tasks WHEN OLD.state = 0 BEGIN
  UPDATE stretches SET n = n - 1 WHERE rank = OLD.rank AND stretch = OLD.seq / {0};
  DELETE FROM stretches WHERE rank = OLD.rank AND stretch = OLD.seq / {0} AND n = 0; END;
)sql";

Status Execute(sqlite3* database, const std::string& sql) {
  if (sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) return OkStatus();
  return Unavailable("cannot prepare the task store: {}", sqlite3_errmsg(database));
}

Result<int64_t> FirstValue(sqlite3* database, std::string_view sql) {
  SqliteQuery query(database, sql);
  SACCADE_RETURN_IF_ERROR(query.Step().status());
  return query.Int(0);
}

}  // namespace

Status PrepareTaskSchema(sqlite3* database) {
  SqliteTransaction transaction(database);
  SACCADE_RETURN_IF_ERROR(transaction.begun());
  SACCADE_ASSIGN_OR_RETURN(const int64_t version, FirstValue(database, "PRAGMA user_version"));
  if (version > kVersion) {
    return Unavailable(
        "the task store has version {} and this program knows {}: it was written by a newer Saccade; start "
        "that "
        "one, or choose another data directory",
        version, kVersion);
  }
  if (version < 1) {
    SACCADE_RETURN_IF_ERROR(Execute(database, kTables));
    SACCADE_ASSIGN_OR_RETURN(
        const int64_t has_owner,
        FirstValue(database, "SELECT count(*) FROM pragma_table_info('tasks') WHERE name = 'owner'"));
    if (has_owner == 0) SACCADE_RETURN_IF_ERROR(Execute(database, kOwner));
    SACCADE_RETURN_IF_ERROR(Execute(database, fmt::format(kStretches, kTasksPerStretch)));
    SACCADE_RETURN_IF_ERROR(Execute(database, fmt::format("PRAGMA user_version = {}", kVersion)));
  }
  return transaction.Commit();
}

}  // namespace saccade
