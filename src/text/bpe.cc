#include "text/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <queue>

#include "text/byte_level.h"

namespace saccade {
namespace {

// Up to here a scan for the best pair after every merge beats the heap; nearly all pre-tokens are shorter.
constexpr size_t kShortPieceBytes = 48;

// Positions inside a piece are 32-bit.
constexpr size_t kMaxPieceBytes = size_t{1} << 30;

// The bytes of a long piece as a linked list of tokens; an absorbed token has id -1.
class TokenList {
 public:
  static constexpr uint32_t kEnd = UINT32_MAX;

  TokenList(std::string_view piece, const std::array<int32_t, 256>& byte_ids) : nodes_(piece.size()) {
    const auto count = static_cast<uint32_t>(piece.size());
    for (uint32_t i = 0; i < count; ++i) {
      nodes_[i] = {byte_ids[static_cast<uint8_t>(piece[i])], i == 0 ? kEnd : i - 1,
                   i + 1 == count ? kEnd : i + 1};
    }
  }

  int32_t id(uint32_t at) const { return nodes_[at].id; }
  uint32_t next(uint32_t at) const { return nodes_[at].next; }
  uint32_t previous(uint32_t at) const { return nodes_[at].previous; }

  // The token at `at` swallows its right neighbour and becomes `merged`.
  void Merge(uint32_t at, int32_t merged) {
    Node& right = nodes_[nodes_[at].next];
    right.id = -1;
    nodes_[at].id = merged;
    nodes_[at].next = right.next;
    if (right.next != kEnd) nodes_[right.next].previous = at;
  }

 private:
  struct Node {
    int32_t id;
    uint32_t previous, next;
  };
  std::vector<Node> nodes_;
};

}  // namespace

Status Bpe::SetBytes(const Vocabulary& vocabulary) {
  for (size_t byte = 0; byte < byte_ids_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    const std::optional<int32_t> id = vocabulary.Find(std::string_view(&c, 1));
    if (!id.has_value()) {
      return Unsupported("the vocabulary has no token for byte 0x{:02X} (spelled \"{}\")", byte,
                         SpellByte(static_cast<uint8_t>(byte)));
    }
    byte_ids_[byte] = *id;
  }
  return OkStatus();
}

size_t Bpe::Slot(uint64_t pair) const {
  const size_t mask = table_.size() - 1;
  // Multiplicative hashing: the high bits of the product depend on all bits of the pair.
  size_t slot = (pair * 0x9E3779B97F4A7C15U) >> 32 & mask;
  while (table_[slot].pair != pair && table_[slot].rank != kNoRank) slot = (slot + 1) & mask;
  return slot;
}

void Bpe::Insert(const Merge& merge) {
  Merge& slot = table_[Slot(merge.pair)];
  if (slot.rank == kNoRank) ++used_;
  slot = merge;
}

void Bpe::Reserve(size_t merges) {
  const size_t size = std::bit_ceil(std::max<size_t>(16, merges + merges / 2));
  if (size <= table_.size()) return;
  const std::vector<Merge> old = std::exchange(table_, std::vector<Merge>(size));
  used_ = 0;
  for (const Merge& merge : old) {
    if (merge.rank != kNoRank) Insert(merge);
  }
}

void Bpe::AddMerge(int32_t left, int32_t right, int32_t merged) {
  if ((used_ + 1) * 4 > table_.size() * 3) Reserve(table_.size());
  Insert({Key(left, right), next_rank_++, merged});
}

void Bpe::EncodeShort(std::string_view piece, std::vector<int32_t>& out) const {
  std::array<int32_t, kShortPieceBytes> ids;
  std::array<Merge, kShortPieceBytes> merges;  // merges[i]: of ids[i] and ids[i + 1]
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i) ids[i] = byte_ids_[static_cast<uint8_t>(piece[i])];
  for (size_t i = 0; i + 1 < count; ++i) merges[i] = Find(ids[i], ids[i + 1]);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (merges[i].rank < merges[best].rank) best = i;
    }
    if (merges[best].rank == kNoRank) break;
    ids[best] = merges[best].merged;
    std::copy(ids.begin() + best + 2, ids.begin() + count, ids.begin() + best + 1);
    if (best + 2 < count)
      std::copy(merges.begin() + best + 2, merges.begin() + count - 1, merges.begin() + best + 1);
    --count;
    if (best > 0) merges[best - 1] = Find(ids[best - 1], ids[best]);
    if (best + 1 < count) merges[best] = Find(ids[best], ids[best + 1]);
  }
  out.insert(out.end(), ids.begin(), ids.begin() + count);
}

void Bpe::EncodeLong(std::string_view piece, std::vector<int32_t>& out) const {
  TokenList list(piece, byte_ids_);
  // Candidates as rank << 32 | position, so that the smallest is the next to merge. Entries are never removed
  // when a neighbour changes; a stale one is recognised by the rank of the pair that stands there now.
  std::vector<uint64_t> candidates;
  candidates.reserve(piece.size() + 2);
  const auto rank_at = [&](uint32_t at) {
    const uint32_t right = list.next(at);
    return right == TokenList::kEnd ? Merge{} : Find(list.id(at), list.id(right));
  };
  for (uint32_t at = 0; at + 1 < piece.size(); ++at) {
    const uint32_t rank = rank_at(at).rank;
    if (rank != kNoRank) candidates.push_back(uint64_t{rank} << 32 | at);
  }
  std::priority_queue heap(std::greater<>(), std::move(candidates));
  const auto push = [&](uint32_t at) {
    const uint32_t rank = rank_at(at).rank;
    if (rank != kNoRank) heap.push(uint64_t{rank} << 32 | at);
  };
  while (!heap.empty()) {
    const uint64_t top = heap.top();
    heap.pop();
    const auto at = static_cast<uint32_t>(top);
    if (list.id(at) < 0) continue;
    const Merge merge = rank_at(at);
    if (merge.rank != top >> 32) continue;
    list.Merge(at, merge.merged);
    if (list.previous(at) != TokenList::kEnd) push(list.previous(at));
    push(at);
  }
  for (uint32_t at = 0; at != TokenList::kEnd; at = list.next(at)) out.push_back(list.id(at));
}

void Bpe::Encode(std::string_view piece, std::vector<int32_t>& out) const {
  for (; piece.size() > kMaxPieceBytes; piece.remove_prefix(kMaxPieceBytes)) {
    EncodeLong(piece.substr(0, kMaxPieceBytes), out);
  }
  if (piece.empty()) return;
  if (piece.size() <= kShortPieceBytes) {
    EncodeShort(piece, out);
  } else {
    EncodeLong(piece, out);
  }
}

}  // namespace saccade
