#include "tasks/sqlite.h"

namespace saccade {
namespace {

Status SqliteStatus(sqlite3* database, int code) {
  const char* text = sqlite3_errmsg(database);
  switch (code & 0xff) {
    case SQLITE_FULL:
      return InsufficientStorage("the task store is full: {}", text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_READONLY:
      return Unavailable("the task store cannot be used now: {}", text);
    default:
      return Internal("task store: {}", text);
  }
}

}  // namespace

SqliteQuery::SqliteQuery(sqlite3* database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  code_ = sqlite3_prepare_v2(database, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
}

SqliteQuery& SqliteQuery::Bind(int64_t value) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

SqliteQuery& SqliteQuery::Bind(std::string_view text) {
  // An empty view may have no address, which SQLite would read as NULL.
  const char* data = text.empty() ? "" : text.data();
  if (code_ == SQLITE_OK) {
    code_ = sqlite3_bind_text64(statement_.get(), ++bound_, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  return *this;
}

SqliteQuery& SqliteQuery::BindNull() {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

Result<bool> SqliteQuery::Step() {
  if (code_ != SQLITE_OK) return SqliteStatus(database_, code_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return SqliteStatus(database_, code);
}

Status SqliteQuery::Run() {
  while (true) {
    SACCADE_ASSIGN_OR_RETURN(const bool row, Step());
    if (!row) return OkStatus();
  }
}

std::string SqliteQuery::Text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (text == nullptr) return {};
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

SqliteTransaction::SqliteTransaction(sqlite3* database)
    : database_(database), begun_(SqliteQuery(database, "BEGIN IMMEDIATE").Run()), open_(begun_.ok()) {}

SqliteTransaction::~SqliteTransaction() {
  if (open_) sqlite3_exec(database_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Status SqliteTransaction::Commit() {
  SACCADE_RETURN_IF_ERROR(SqliteQuery(database_, "COMMIT").Run());
  open_ = false;
  return OkStatus();
}

}  // namespace saccade
