// Owners of SQLite's handles, with errors as Status.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

namespace saccade {

// One run of a statement. Values are bound in order by Bind; texts must live until the last Step.
// Thread-compatible.
class SqliteQuery {
 public:
  SqliteQuery(sqlite3* database, std::string_view sql);

  SqliteQuery& Bind(int64_t value);
  SqliteQuery& Bind(std::string_view text);
  SqliteQuery& BindNull();

  // True: a row is there to read.
  Result<bool> Step();
  // Runs a statement whose rows do not matter.
  Status Run();

  int64_t Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  std::string Text(int column) const;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int code_ = SQLITE_OK;
  int bound_ = 0;
};

// BEGIN IMMEDIATE until Commit; rolls back when it goes without one. Thread-compatible.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(sqlite3* database);
  ~SqliteTransaction();
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;

  const Status& begun() const { return begun_; }
  Status Commit();

 private:
  sqlite3* database_;
  Status begun_;
  bool open_ = false;
};

}  // namespace saccade
