#include "engine/prefix_cache.h"

#include <algorithm>
#include <utility>

namespace saccade {
namespace {

int64_t EqualBeginning(const std::vector<PrefixSlot>& a, const std::vector<PrefixSlot>& b) {
  const size_t length = std::min(a.size(), b.size());
  size_t i = 0;
  while (i < length && a[i] == b[i]) ++i;
  return static_cast<int64_t>(i);
}

}  // namespace

PrefixCache::Entries::iterator PrefixCache::FindComplete(const Sha256Digest& before,
                                                         const std::vector<PrefixSlot>& slots) {
  const auto [begin, end] = children_.equal_range(before);
  const auto found =
      std::find_if(begin, end, [&](const auto& child) { return child.second->slots == slots; });
  return found == end ? entries_.end() : found->second;
}

std::pair<int64_t, PrefixCache::Entries::iterator> PrefixCache::FindBeginning(
    const Sha256Digest& before, const std::vector<PrefixSlot>& slots) {
  std::pair<int64_t, Entries::iterator> best = {0, entries_.end()};
  const auto [begin, end] = children_.equal_range(before);
  for (auto child = begin; child != end; ++child) {
    const int64_t length = EqualBeginning(child->second->slots, slots);
    if (length > best.first) best = {length, child->second};
  }
  return best;
}

int64_t PrefixCache::Match(PrefixChain& chain, std::span<const int32_t> tokens, int64_t limit,
                           std::vector<int32_t>& pages) {
  const int64_t page_tokens = pool_.page_tokens();
  int64_t covered = 0;
  std::vector<Entries::iterator> path;
  while (enabled_ && covered + page_tokens <= limit) {
    const auto entry = FindComplete(chain.Before(tokens, covered / page_tokens),
                                    chain.Slots(tokens, covered, covered + page_tokens));
    if (entry == entries_.end()) break;
    pool_.Share(entry->page);
    pages.push_back(entry->page);
    path.push_back(entry);
    covered += page_tokens;
  }
  if (enabled_ && covered < limit) {
    const int64_t last = std::min(limit, covered + page_tokens);
    const auto [length, entry] =
        FindBeginning(chain.Before(tokens, covered / page_tokens), chain.Slots(tokens, covered, last));
    if (length > 0) {
      path.push_back(entry);
      const int32_t source = entry->page;
      pool_.Share(source);  // making room must not give it up
      if (Grow(pages, covered + length)) {
        pool_.Copy(source, pages.back());
        covered += length;
      }
      pool_.Drop(source);
    }
  }
  // From back to front: the beginning of a sequence is worth more than its end, and useless without it.
  for (auto entry = path.rbegin(); entry != path.rend(); ++entry) Touch(*entry);
  return covered;
}

bool PrefixCache::Add(const Sha256Digest& before, std::vector<PrefixSlot> slots, int32_t page) {
  const auto [length, entry] = FindBeginning(before, slots);
  if (entry != entries_.end()) {
    if (length == static_cast<int64_t>(slots.size())) {
      Touch(entry);
      return false;
    }
    if (length == static_cast<int64_t>(entry->slots.size())) Remove(entry);  // the new page holds all of it
  }
  pool_.Share(page);
  entries_.push_front({before, std::move(slots), page});
  children_.emplace(before, entries_.begin());
  return true;
}

void PrefixCache::Insert(PrefixChain& chain, std::span<const int32_t> tokens, int64_t computed,
                         std::span<const int32_t> pages, bool tail) {
  if (!enabled_) return;
  const int64_t page_tokens = pool_.page_tokens();
  const int64_t complete = computed / page_tokens;
  if (tail && computed % page_tokens != 0) {
    const int64_t first = complete * page_tokens;
    const bool added = Add(chain.Before(tokens, complete), chain.Slots(tokens, first, computed),
                           pages[static_cast<size_t>(complete)]);
    version_ += added ? 1 : 0;
  }
  for (int64_t block = complete; block-- > 0;) {
    const int64_t first = block * page_tokens;
    const bool added = Add(chain.Before(tokens, block), chain.Slots(tokens, first, first + page_tokens),
                           pages[static_cast<size_t>(block)]);
    version_ += added ? 1 : 0;
  }
}

int64_t PrefixCache::Removable() const {
  return std::count_if(entries_.begin(), entries_.end(),
                       [this](const Entry& entry) { return pool_.holders(entry.page) == 1; });
}

void PrefixCache::Remove(Entries::iterator entry) {
  const auto [begin, end] = children_.equal_range(entry->before);
  children_.erase(std::find_if(begin, end, [&](const auto& child) { return child.second == entry; }));
  pool_.Drop(entry->page);
  entries_.erase(entry);
}

bool PrefixCache::RemoveOldest() {
  for (auto entry = entries_.end(); entry != entries_.begin();) {
    if (pool_.holders((--entry)->page) != 1) continue;
    Remove(entry);
    return true;
  }
  return false;
}

bool PrefixCache::Grow(std::vector<int32_t>& pages, int64_t tokens) {
  const int64_t missing = pool_.PagesFor(tokens) - static_cast<int64_t>(pages.size());
  if (missing > available()) return false;
  while (missing > pool_.available()) RemoveOldest();
  return pool_.Grow(pages, tokens);
}

}  // namespace saccade
