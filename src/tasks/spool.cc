#include "tasks/spool.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include "base/descriptor.h"
#include "base/file.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kUnfinished = ".part";
// Less free space than this share of the disk is worth a warning.
constexpr double kNearlyFull = 0.05;

Status FileError(std::string_view what, const fs::path& path, int error) {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return InsufficientStorage("cannot {} {}: {}", what, path.string(), std::strerror(error));
  }
  return Unavailable("cannot {} {}: {}", what, path.string(), std::strerror(error));
}

bool IsTaskId(std::string_view id) {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// "task_12.3" belongs to "task_12".
std::string TaskOf(const std::string& name) { return name.substr(0, name.find('.')); }

Status WriteAll(const fs::path& path, std::string_view bytes) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.ok()) return FileError("create", path, errno);
  while (!bytes.empty()) {
    const ssize_t written = write(file.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return FileError("write", path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return fsync(file.get()) == 0 ? OkStatus() : FileError("write", path, errno);
}

Status SyncFolder(const fs::path& directory) {
  const Descriptor folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.ok() || fsync(folder.get()) != 0) return FileError("synchronise", directory, errno);
  return OkStatus();
}

Result<std::vector<fs::directory_entry>> Files(const fs::path& directory) {
  std::error_code error;
  std::vector<fs::directory_entry> files;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->is_regular_file(error)) files.push_back(*at);
  }
  if (error) return FileError("read", directory, error.value());
  return files;
}

}  // namespace

Result<std::unique_ptr<Spool>> Spool::Open(SpoolOptions options) {
  std::error_code error;
  fs::create_directories(options.directory, error);
  if (error) return FileError("create", options.directory, error.value());
  std::unique_ptr<Spool> spool(new Spool(std::move(options)));
  SACCADE_RETURN_IF_ERROR(spool->Scan());
  return spool;
}

Status Spool::Scan() {
  SACCADE_ASSIGN_OR_RETURN(const auto files, Files(options_.directory));
  for (const fs::directory_entry& file : files) {
    const std::string name = file.path().filename().string();
    std::error_code error;
    const auto size = static_cast<int64_t>(file.file_size(error));
    if (error) continue;
    used_bytes_ += size;
    if (name.ends_with(kUnfinished)) {
      SACCADE_RETURN_IF_ERROR(RemoveFile(file.path()));
    } else if (const size_t dot = name.find('.'); dot != std::string::npos) {
      next_ = std::max<int64_t>(next_, std::strtoll(name.c_str() + dot + 1, nullptr, 10) + 1);
      Remember(name);
    }
  }
  return OkStatus();
}

Status Spool::Reserve(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (used_bytes_ + bytes > options_.max_bytes) {
    return InsufficientStorage("the spool holds {} of {} bytes; {} more do not fit", used_bytes_,
                               options_.max_bytes, bytes);
  }
  used_bytes_ += bytes;
  return OkStatus();
}

void Spool::GiveBack(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  used_bytes_ -= bytes;
}

Result<std::string> Spool::Add(const std::string& task_id, std::string_view bytes) {
  if (!IsTaskId(task_id)) return InvalidArgument("not a task id: \"{}\"", task_id);
  SACCADE_RETURN_IF_ERROR(Reserve(static_cast<int64_t>(bytes.size())));
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = next_++;
  }
  const std::string name = fmt::format("{}.{}", task_id, number);
  const fs::path path = options_.directory / name;
  const fs::path unfinished = path.string() + std::string(kUnfinished);
  Status status = WriteAll(unfinished, bytes);
  if (status.ok() && rename(unfinished.c_str(), path.c_str()) != 0) status = FileError("name", path, errno);
  if (status.ok()) status = SyncFolder(options_.directory);
  if (status.ok()) {
    Remember(name);
    return name;
  }
  unlink(unfinished.c_str());
  unlink(path.c_str());
  GiveBack(static_cast<int64_t>(bytes.size()));
  return status;
}

Result<std::string> Spool::Read(const std::string& name) const {
  const size_t dot = name.find('.');
  const bool digits = dot != std::string::npos && dot + 1 < name.size() &&
                      name.find_first_not_of("0123456789", dot + 1) == std::string::npos;
  if (!digits || !IsTaskId(TaskOf(name))) return NotFound("\"{}\" is not a file of the spool", name);
  return ReadFile(options_.directory / name, std::numeric_limits<int64_t>::max());
}

Status Spool::RemoveFile(const fs::path& path) {
  std::error_code error;
  const auto size = static_cast<int64_t>(fs::file_size(path, error));
  if (error) return OkStatus();  // somebody else removed it
  if (unlink(path.c_str()) != 0) return errno == ENOENT ? OkStatus() : FileError("remove", path, errno);
  GiveBack(size);
  return OkStatus();
}

void Spool::Remember(const std::string& name) {
  const std::lock_guard lock(mutex_);
  names_.emplace(TaskOf(name), name);
}

Status Spool::RemoveTask(const std::string& task_id) {
  std::vector<std::string> names;
  {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = names_.equal_range(task_id);
    for (auto at = first; at != last; ++at) names.push_back(at->second);
    names_.erase(first, last);
  }
  for (const std::string& name : names) SACCADE_RETURN_IF_ERROR(RemoveFile(options_.directory / name));
  return OkStatus();
}

Result<int64_t> Spool::RemoveOrphans(const std::function<bool(const std::string& task_id)>& is_live) {
  SACCADE_ASSIGN_OR_RETURN(const auto files, Files(options_.directory));
  int64_t removed = 0;
  for (const fs::directory_entry& file : files) {
    const std::string task_id = TaskOf(file.path().filename().string());
    if (is_live(task_id)) continue;
    SACCADE_RETURN_IF_ERROR(RemoveFile(file.path()));
    const std::lock_guard lock(mutex_);
    names_.erase(task_id);
    ++removed;
  }
  return removed;
}

int64_t Spool::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return used_bytes_;
}

std::vector<std::string> Spool::Warnings() const {
  std::vector<std::string> warnings;
  struct statfs kind = {};
  if (statfs(options_.directory.c_str(), &kind) == 0 &&
      (kind.f_type == TMPFS_MAGIC || kind.f_type == RAMFS_MAGIC)) {
    warnings.push_back(fmt::format("{} lies in memory: accepted tasks are lost at a restart of the machine",
                                   options_.directory.string()));
  }
  struct statvfs disk = {};
  if (statvfs(options_.directory.c_str(), &disk) == 0 && disk.f_blocks > 0) {
    const double free_share = static_cast<double>(disk.f_bavail) / static_cast<double>(disk.f_blocks);
    if (free_share < kNearlyFull) {
      warnings.push_back(fmt::format("the disk of {} is nearly full: {:.1f} % is free",
                                     options_.directory.string(), 100 * free_share));
    }
  }
  return warnings;
}

}  // namespace saccade
