// The pool of KV cache pages. A page holds the keys and values of page_tokens consecutive tokens of one
// sequence for all layers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "model/model.h"

namespace saccade {

// Engine thread only. Memory is reserved once and becomes resident as pages are first used; freed pages are
// used again before fresh ones, so that a lightly loaded server stays small.
class KvPagePool {
 public:
  static Result<std::unique_ptr<KvPagePool>> Make(const KvLayout& layout, int layers, int64_t pages);

  int page_tokens() const { return view_.layout.page_tokens; }
  int64_t total() const { return total_; }
  int64_t used() const { return total_ - static_cast<int64_t>(free_.size()); }
  int64_t available() const { return static_cast<int64_t>(free_.size()); }
  int64_t PagesFor(int64_t tokens) const { return (tokens + page_tokens() - 1) / page_tokens(); }
  size_t bytes() const { return memory_.size(); }
  const KvCacheView& view() const { return view_; }

  // Extends `pages` until it has room for `tokens`; false, with nothing changed, when too few pages are free.
  bool Grow(std::vector<int32_t>& pages, int64_t tokens);
  // Gives all pages back and empties the list.
  void Release(std::vector<int32_t>& pages);

 private:
  KvPagePool() = default;

  AlignedBuffer memory_;
  KvCacheView view_;
  int64_t total_ = 0;
  std::vector<int32_t> free_;  // a stack: the last freed page is the next one used
};

}  // namespace saccade
