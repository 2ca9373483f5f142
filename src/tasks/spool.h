// The uploads of accepted tasks as files of one folder, until their tasks have ended.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

struct SpoolOptions {
  std::filesystem::path directory;  // created when missing
  int64_t max_bytes = int64_t{8} << 30;
};

// One process owns a folder. A file is either complete and on the disk under its name or not there: it is
// written beside, synchronised and renamed. Thread-safe.
class Spool {
 public:
  // Counts what is there and removes the unfinished files of a process that was killed.
  static Result<std::unique_ptr<Spool>> Open(SpoolOptions options);

  // The name under which Read finds the bytes. kInsufficientStorage over the byte cap or when the disk is
  // full; then nothing is left behind. `task_id` has letters, digits, '_' and '-' only.
  Result<std::string> Add(const std::string& task_id, std::string_view bytes);
  // kNotFound for names that Add did not give or whose task was removed.
  Result<std::string> Read(const std::string& name) const;
  // Removes all files of the task; none is fine.
  Status RemoveTask(const std::string& task_id);
  // Removes the files of every task for which `is_live` is false. Returns how many files went.
  // Not while a task is between Add and its Put: call it at start, before requests are accepted.
  Result<int64_t> RemoveOrphans(const std::function<bool(const std::string& task_id)>& is_live);

  int64_t used_bytes() const;
  // What an operator should know: the folder lies in memory, or its disk is nearly full. Sentences.
  std::vector<std::string> Warnings() const;

 private:
  explicit Spool(SpoolOptions options) : options_(std::move(options)) {}
  Status Scan();
  Status Reserve(int64_t bytes);
  void GiveBack(int64_t bytes);
  Status RemoveFile(const std::filesystem::path& path);
  void Remember(const std::string& name);

  const SpoolOptions options_;
  mutable std::mutex mutex_;
  int64_t used_bytes_ = 0;                         // guarded by mutex_
  int64_t next_ = 0;                               // guarded by mutex_
  std::multimap<std::string, std::string> names_;  // by task: no folder is searched; guarded by mutex_
};

}  // namespace saccade
