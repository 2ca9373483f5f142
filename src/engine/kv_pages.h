// The pool of KV cache pages. A page holds the keys and values of page_tokens consecutive tokens of a
// sequence for all layers; sequences that start alike may share pages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "model/model.h"

namespace saccade {

// Engine thread only. Memory is reserved once and becomes resident as pages are first used; freed pages are
// used again before fresh ones, so that a lightly loaded server stays small. A page is written by the holder
// that took it from the pool, and only behind the tokens that others share.
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
  // Gives all pages back and empties the list; a page is free when its last holder has given it back.
  void Release(std::vector<int32_t>& pages);

  // One more holder of a page that is in use, or one less.
  void Share(int32_t page);
  void Drop(int32_t page);
  int holders(int32_t page) const { return holders_[static_cast<size_t>(page)]; }

  // Copies keys and values of all layers.
  void Copy(int32_t from, int32_t to);
  // Fills a page with zeros. Attention multiplies what lies behind the visible tokens by zero, so a NaN that
  // stayed in a page would reach its next holder.
  void Clear(int32_t page);

 private:
  KvPagePool() = default;
  std::byte* Address(int32_t page) const {
    return view_.base + static_cast<size_t>(page) * view_.page_stride;
  }

  AlignedBuffer memory_;
  KvCacheView view_;
  int64_t total_ = 0;
  std::vector<int32_t> free_;  // a stack: the last freed page is the next one used
  std::vector<int> holders_;   // by page
};

}  // namespace saccade
