// Byte-pair merges: turns the bytes of one pre-token into token ids.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/vocabulary.h"

namespace saccade {

// Filled once, then read-only and thread-safe.
class Bpe {
 public:
  // Every one of the 256 single bytes must be a token: then any text can be encoded.
  Status SetBytes(const Vocabulary& vocabulary);

  void Reserve(size_t merges);
  // `left` + `right` become `merged`. Merges are added in order of priority, the most important first; of a
  // pair given twice the later one counts, as in the reference.
  void AddMerge(int32_t left, int32_t right, int32_t merged);

  // Appends the ids of `piece`: the pair of lowest rank, leftmost first, is merged until none is left. Time
  // is O(n log n) in the bytes of the piece.
  void Encode(std::string_view piece, std::vector<int32_t>& out) const;

 private:
  static constexpr uint32_t kNoRank = UINT32_MAX;
  struct Merge {
    uint64_t pair = UINT64_MAX;  // left << 32 | right
    uint32_t rank = kNoRank;
    int32_t merged = -1;
  };

  static uint64_t Key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t Slot(uint64_t pair) const;
  const Merge& Find(int32_t left, int32_t right) const { return table_[Slot(Key(left, right))]; }
  void Insert(const Merge& merge);
  void EncodeShort(std::string_view piece, std::vector<int32_t>& out) const;
  void EncodeLong(std::string_view piece, std::vector<int32_t>& out) const;

  std::array<int32_t, 256> byte_ids_{};
  std::vector<Merge> table_ = std::vector<Merge>(16);  // open addressing, a power of two, never full
  size_t used_ = 0;
  uint32_t next_rank_ = 0;
};

}  // namespace saccade
