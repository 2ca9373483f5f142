#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/descriptor.h"

namespace saccade {
namespace {

Status FromErrno(int error, const std::filesystem::path& path) {
  if (error == ENOENT || error == ENOTDIR) return NotFound("{}: no such file", path.string());
  return InvalidArgument("{}: cannot be read: {}", path.string(), std::strerror(error));
}

Status TooManyBytes(const std::filesystem::path& path, int64_t bytes, size_t max_bytes) {
  return TooLarge("{} has {} bytes, the limit is {}", path.string(), bytes, max_bytes);
}

}  // namespace

Result<std::string> ReadFile(const std::filesystem::path& path, size_t max_bytes) {
  // Non-blocking, so that opening a pipe without a writer cannot hang; no effect on regular files.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return FromErrno(errno, path);
  struct stat info = {};
  if (fstat(file.get(), &info) != 0) return FromErrno(errno, path);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{} is not a regular file", path.string());
  if (info.st_size < 0 || static_cast<size_t>(info.st_size) > max_bytes) {
    return TooManyBytes(path, info.st_size, max_bytes);
  }
  std::string content(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < content.size()) {
    const ssize_t got = read(file.get(), content.data() + filled, content.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FromErrno(errno, path);
    if (got == 0) break;  // truncated by someone since fstat
    filled += static_cast<size_t>(got);
  }
  content.resize(filled);
  return content;
}

}  // namespace saccade
