#include "tensor/mmap_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "base/descriptor.h"

namespace saccade {

Result<MmapFile> MmapFile::Open(const std::filesystem::path& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.ok()) {
    const int error = errno;
    if (error == ENOENT) return NotFound("no such file: {}", path.string());
    return InvalidArgument("cannot open {}: {}", path.string(), std::strerror(error));
  }
  struct stat info {};
  if (fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return InvalidArgument("{} is not a regular file", path.string());
  }
  const size_t size = static_cast<size_t>(info.st_size);
  if (size == 0) return MmapFile(nullptr, 0);
  void* data = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED) return Internal("cannot map {}: {}", path.string(), std::strerror(errno));
  return MmapFile(static_cast<const std::byte*>(data), size);
}

MmapFile::MmapFile(MmapFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MmapFile& MmapFile::operator=(MmapFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MmapFile::~MmapFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
}

void MmapFile::Release(std::span<const std::byte> part) const {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGE_SIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(part.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(part.data()) + part.size()) / page * page;
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace saccade
