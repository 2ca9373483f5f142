// KV pages of finished and running sequences by what they hold, so that a prompt that starts like an earlier
// one is not computed again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "engine/kv_pages.h"
#include "engine/prefix_chain.h"

namespace saccade {

// Engine thread only. The cache is one holder of each of its pages; pages that it alone holds are given up,
// least recently used first, when a sequence needs room, so that the cache never makes anybody wait.
//
// A page is found by the key of everything before it and its own slots. A complete page that is equal is
// shared; of the one behind the last shared page the equal part is copied into a fresh page, so that two
// questions about a picture share it up to the first different token.
class PrefixCache {
 public:
  // Disabled it finds and keeps nothing.
  PrefixCache(KvPagePool& pool, bool enabled) : pool_(pool), enabled_(enabled) {}

  // Fills `pages` (empty) with the longest known beginning of `tokens` and returns how many tokens it covers,
  // at most `limit`.
  int64_t Match(PrefixChain& chain, std::span<const int32_t> tokens, int64_t limit,
                std::vector<int32_t>& pages);
  // Remembers the pages of a sequence whose first `computed` tokens have keys and values that are known to be
  // finite. With `tail` the last, incomplete page as well; nobody may write to it any more.
  void Insert(PrefixChain& chain, std::span<const int32_t> tokens, int64_t computed,
              std::span<const int32_t> pages, bool tail);

  // Like those of the pool, but count on the pages that the cache can give up.
  int64_t available() const { return pool_.available() + Removable(); }
  bool Grow(std::vector<int32_t>& pages, int64_t tokens);

  int64_t pages() const { return static_cast<int64_t>(entries_.size()); }
  // Changes when a match may have become longer.
  uint64_t version() const { return version_; }

 private:
  struct Entry {
    Sha256Digest before;            // the key of everything in front
    std::vector<PrefixSlot> slots;  // page_tokens of them, or fewer in a last page
    int32_t page = 0;
  };
  using Entries = std::list<Entry>;
  using Children = std::multimap<Sha256Digest, Entries::iterator>;

  Entries::iterator FindComplete(const Sha256Digest& before, const std::vector<PrefixSlot>& slots);
  // Length of the longest equal beginning and the entry that has it.
  std::pair<int64_t, Entries::iterator> FindBeginning(const Sha256Digest& before,
                                                      const std::vector<PrefixSlot>& slots);
  // False when a page that holds as much is known already.
  bool Add(const Sha256Digest& before, std::vector<PrefixSlot> slots, int32_t page);
  int64_t Removable() const;
  bool RemoveOldest();
  void Remove(Entries::iterator entry);
  void Touch(Entries::iterator entry) { entries_.splice(entries_.begin(), entries_, entry); }

  KvPagePool& pool_;
  const bool enabled_;
  Entries entries_;  // last used first; the pages of one sequence from front to back
  Children children_;
  uint64_t version_ = 0;
};

}  // namespace saccade
