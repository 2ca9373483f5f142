#include "engine/prefix_chain.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace saccade {

PrefixChain::PrefixChain(std::string_view scope, std::vector<PicturePlace> pictures, int block_tokens)
    : pictures_(std::move(pictures)), block_tokens_(block_tokens), keys_{Sha256Of(scope)} {}

std::vector<PrefixSlot> PrefixChain::Slots(std::span<const int32_t> tokens, int64_t first,
                                           int64_t last) const {
  std::vector<PrefixSlot> slots;
  slots.reserve(static_cast<size_t>(last - first));
  for (int64_t i = first; i < last; ++i) slots.push_back({tokens[static_cast<size_t>(i)], -1, {}});
  for (const PicturePlace& picture : pictures_) {
    const int64_t end = std::min(last, picture.start + picture.tokens);
    for (int64_t i = std::max(first, picture.start); i < end; ++i) {
      PrefixSlot& slot = slots[static_cast<size_t>(i - first)];
      slot.picture_row = static_cast<int32_t>(i - picture.start);
      slot.picture = picture.digest;
    }
  }
  return slots;
}

const Sha256Digest& PrefixChain::Before(std::span<const int32_t> tokens, int64_t index) {
  while (static_cast<int64_t>(keys_.size()) <= index) {
    const int64_t first = (static_cast<int64_t>(keys_.size()) - 1) * block_tokens_;
    SACCADE_CHECK(first + block_tokens_ <= static_cast<int64_t>(tokens.size()));
    Sha256 hash;
    hash.Update(std::as_bytes(std::span(keys_.back())));
    for (const PrefixSlot& slot : Slots(tokens, first, first + block_tokens_)) {
      const int32_t numbers[2] = {slot.token, slot.picture_row};
      hash.Update(std::as_bytes(std::span(numbers)));
      if (slot.picture_row >= 0) hash.Update(std::as_bytes(std::span(slot.picture)));
    }
    keys_.push_back(hash.Finish());
  }
  return keys_[static_cast<size_t>(index)];
}

}  // namespace saccade
