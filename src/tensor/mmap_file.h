// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "base/status.h"

namespace saccade {

// Owns the mapping; movable. Thread-safe to read. The file must not be truncated while it is mapped: the
// caller takes checkpoints to be immutable, as every tool of the field does.
class MmapFile {
 public:
  static Result<MmapFile> Open(const std::filesystem::path& path);
  MmapFile() = default;
  MmapFile(MmapFile&& other) noexcept;
  MmapFile& operator=(MmapFile&& other) noexcept;
  ~MmapFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

  // Drops the pages of `part` (a sub-span of bytes()) from this process's resident memory; they are read
  // again from the page cache when touched. Keeps the peak low while weights are packed into their own copy.
  void Release(std::span<const std::byte> part) const;

 private:
  MmapFile(const std::byte* data, size_t size) : data_(data), size_(size) {}
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace saccade
