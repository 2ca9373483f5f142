// What the keys and values of a sequence depend on, block by block.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/sha256.h"

namespace saccade {

// One position of a prompt: a token, or a row of a picture. Two equal runs of slots from the start of a
// sequence have equal keys and values: positions follow from the tokens and the grids, which the picture
// digests include.
struct PrefixSlot {
  int32_t token = 0;
  int32_t picture_row = -1;  // -1: text
  Sha256Digest picture{};    // of the picture that the row belongs to
  bool operator==(const PrefixSlot&) const = default;
};

// Where a picture stands in a sequence.
struct PicturePlace {
  int64_t start = 0, tokens = 0;
  Sha256Digest digest{};
};

// Keys of the blocks of one sequence. The key of a block is the SHA-256 of the key before it and its own
// slots, so that it stands for everything from the first token on. Engine thread only.
class PrefixChain {
 public:
  // Sequences of different scopes never share a key; the scope may be empty. `pictures` in order of their
  // start.
  PrefixChain(std::string_view scope, std::vector<PicturePlace> pictures, int block_tokens);

  int block_tokens() const { return block_tokens_; }
  // The key before block `index`: of everything in front of it. `tokens` are those of the sequence, the same
  // at every call but for new ones at the end; block index - 1 must be complete.
  const Sha256Digest& Before(std::span<const int32_t> tokens, int64_t index);
  // The slots [first, last) of the sequence.
  std::vector<PrefixSlot> Slots(std::span<const int32_t> tokens, int64_t first, int64_t last) const;

 private:
  const std::vector<PicturePlace> pictures_;
  const int block_tokens_;
  std::vector<Sha256Digest> keys_;  // keys_[i]: before block i
};

}  // namespace saccade
