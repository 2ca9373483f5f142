#include "base/aligned_buffer.h"

#include <sys/mman.h>

namespace saccade {
namespace {

// Anonymous mappings: zeroed, lazily resident, given back to the system when freed. Large ones are sized to
// whole huge pages and ask for them (a no-op where transparent huge pages are off).
size_t MappedBytes(size_t size) {
  const size_t unit = size >= AlignedBuffer::kHugePageBytes ? AlignedBuffer::kHugePageBytes : size_t{4096};
  return (size + unit - 1) / unit * unit;
}

// mmap only promises 4 KiB alignment: map more and cut the ends off.
void* MapAligned(size_t bytes, size_t alignment) {
  const size_t padded = bytes + alignment;
  void* raw =
      mmap(nullptr, padded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const size_t head = (alignment - reinterpret_cast<size_t>(begin) % alignment) % alignment;
  if (head > 0) munmap(begin, head);
  if (padded - head > bytes) munmap(begin + head + bytes, padded - head - bytes);
  return begin + head;
}

}  // namespace

AlignedBuffer::AlignedBuffer(size_t size) {
  if (size == 0) return;
  const size_t bytes = MappedBytes(size);
  const bool huge = size >= kHugePageBytes;
  void* data = MapAligned(bytes, huge ? kHugePageBytes : size_t{4096});
  size_ = size;
  if (data == nullptr) return;
  if (huge) madvise(data, bytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(data);
}

AlignedBuffer::~AlignedBuffer() {
  if (data_ != nullptr) munmap(data_, MappedBytes(size_));
}

}  // namespace saccade
