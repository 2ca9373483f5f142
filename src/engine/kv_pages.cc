#include "engine/kv_pages.h"

#include <cstring>

#include "base/check.h"

namespace saccade {

Result<std::unique_ptr<KvPagePool>> KvPagePool::Make(const KvLayout& layout, int layers, int64_t pages) {
  std::unique_ptr<KvPagePool> pool(new KvPagePool);
  pool->view_.layout = layout;
  pool->view_.layer_stride = layout.PageBytes();
  pool->view_.page_stride = layout.PageBytes() * static_cast<size_t>(layers);
  pool->memory_ = AlignedBuffer(pool->view_.page_stride * static_cast<size_t>(pages));
  if (!pool->memory_.ok()) {
    return ResourceExhausted("no memory for a KV cache of {} tokens ({} MiB)", pages * layout.page_tokens,
                             pool->memory_.size() >> 20);
  }
  pool->view_.base = pool->memory_.data();
  pool->total_ = pages;
  pool->holders_.assign(static_cast<size_t>(pages), 0);
  pool->free_.reserve(static_cast<size_t>(pages));
  for (int64_t page = pages - 1; page >= 0; --page) pool->free_.push_back(static_cast<int32_t>(page));
  return pool;
}

bool KvPagePool::Grow(std::vector<int32_t>& pages, int64_t tokens) {
  const int64_t missing = PagesFor(tokens) - static_cast<int64_t>(pages.size());
  if (missing > available()) return false;
  for (int64_t i = 0; i < missing; ++i) {
    pages.push_back(free_.back());
    free_.pop_back();
    holders_[static_cast<size_t>(pages.back())] = 1;
  }
  return true;
}

void KvPagePool::Release(std::vector<int32_t>& pages) {
  for (auto page = pages.rbegin(); page != pages.rend(); ++page) Drop(*page);
  pages.clear();
}

void KvPagePool::Share(int32_t page) {
  SACCADE_CHECK(holders(page) > 0);
  ++holders_[static_cast<size_t>(page)];
}

void KvPagePool::Drop(int32_t page) {
  SACCADE_CHECK(holders(page) > 0);
  if (--holders_[static_cast<size_t>(page)] == 0) free_.push_back(page);
}

void KvPagePool::Copy(int32_t from, int32_t to) {
  std::memcpy(Address(to), Address(from), view_.page_stride);
}

void KvPagePool::Clear(int32_t page) { std::memset(Address(page), 0, view_.page_stride); }

}  // namespace saccade
