// Files of earlier versions open with everything in them; those of later ones are left alone.
#include "tasks/sqlite_schema.h"

#include <unistd.h>

#include <filesystem>

#include "base/status_testing.h"
#include "tasks/task_store.h"

namespace saccade {
namespace {

using ::saccade::testing::FailsWith;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class SqliteSchemaTest : public ::testing::Test {
 protected:
  SqliteSchemaTest() : directory_(fs::path(::testing::TempDir()) / fmt::format("schema_{}", getpid())) {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }
  ~SqliteSchemaTest() override { fs::remove_all(directory_); }

  std::string path() const { return (directory_ / "tasks.db").string(); }
  void Execute(const std::string& sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    sqlite3_close(database);
  }

  const fs::path directory_;
};

// The first form that was ever written: no owner, no version.
constexpr const char* kFirstForm = R"sql(
CREATE TABLE tasks (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, state INTEGER NOT NULL DEFAULT 0,
  request TEXT NOT NULL, key TEXT UNIQUE, rank INTEGER NOT NULL, deadline INTEGER NOT NULL,
  ttl INTEGER NOT NULL, created INTEGER NOT NULL, not_before INTEGER NOT NULL DEFAULT 0,
  started INTEGER NOT NULL DEFAULT 0, finished INTEGER NOT NULL DEFAULT 0,
  lease_until INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0,
  token INTEGER NOT NULL DEFAULT 0, progress TEXT NOT NULL DEFAULT '', result TEXT NOT NULL DEFAULT '',
  error TEXT NOT NULL DEFAULT '');
CREATE TABLE counts (state INTEGER PRIMARY KEY, n INTEGER NOT NULL);
INSERT INTO counts VALUES (0,2),(1,0),(2,1),(3,0),(4,0),(5,0);
INSERT INTO tasks (id, state, request, key, rank, deadline, ttl, created, result) VALUES
  ('first', 0, '{"n":1}', 'k', 0, 0, 60000, 5, ''), ('urgent', 0, '{"n":2}', NULL, -3, 0, 60000, 6, ''),
  ('done', 2, '{"n":3}', NULL, 0, 0, 60000, 7, 'seven');
)sql";

TEST_F(SqliteSchemaTest, TasksOfTheFirstFormAreKept) {
  Execute(kFirstForm);
  for (int opening = 0; opening < 2; ++opening) {
    auto store = OpenSqliteTaskStore(path(), {});
    ASSERT_TRUE(store.ok()) << store.status().ToString();
    EXPECT_EQ((*store)->Get("first")->position, 1);
    EXPECT_EQ((*store)->Get("urgent")->position, 0);
    EXPECT_EQ((*store)->Get("done")->result, "seven");
    EXPECT_EQ((*store)->Counts()->of[0], 2 + opening);
    NewTask task{.id = fmt::format("new{}", opening), .request = "{}"};
    task.owner = "ann";
    const auto put = (*store)->Put(task);
    ASSERT_TRUE(put.ok()) << put.status().ToString();
    EXPECT_EQ(put->task.position, 2 + opening);
    EXPECT_EQ((*store)->Get(task.id)->owner, "ann");
    EXPECT_EQ((*store)->List({.owner = "ann"})->tasks.size(), 1u + opening);
  }
  auto store = OpenSqliteTaskStore(path(), {});
  NewTask again{.id = "other", .request = "{}"};
  again.idempotency_key = "k";
  EXPECT_EQ((*store)->Put(again)->task.id, "first");
  EXPECT_EQ((*store)->Claim(1'000)->value().task.id, "urgent");
  EXPECT_EQ((*store)->Get("first")->position, 0);
}

TEST_F(SqliteSchemaTest, FilesOfANewerVersionAreRefusedUntouched) {
  Execute(std::string(kFirstForm) + "PRAGMA user_version = 99");
  const auto store = OpenSqliteTaskStore(path(), {});
  EXPECT_THAT(store.status(), FailsWith(StatusCode::kUnavailable, HasSubstr("version 99")));
  Execute("INSERT INTO tasks (id, request, rank, deadline, ttl, created) VALUES ('x', '{}', 0, 0, 0, 0)");
}

}  // namespace
}  // namespace saccade
