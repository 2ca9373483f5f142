#include "text/vocabulary.h"

#include <functional>

namespace saccade {

// Where `bytes` are in the table, or the free slot where they would go.
size_t Vocabulary::Slot(std::string_view bytes) const {
  const size_t mask = table_.size() - 1;
  size_t slot = std::hash<std::string_view>()(bytes) & mask;
  while (table_[slot] >= 0 && Bytes(table_[slot]) != bytes) slot = (slot + 1) & mask;
  return slot;
}

void Vocabulary::GrowTable() {
  const std::vector<int32_t> old = std::move(table_);
  table_.assign(old.empty() ? 1024 : old.size() * 2, -1);
  for (const int32_t id : old) {
    if (id >= 0) table_[Slot(Bytes(id))] = id;
  }
}

Status Vocabulary::Add(int64_t id, std::string_view bytes) {
  if (id < 0 || id >= kMaxId) return InvalidArgument("token id {} is not in 0 to {}", id, kMaxId - 1);
  if (bytes.empty()) return InvalidArgument("token {} is empty", id);
  if (bytes_.size() + bytes.size() > UINT32_MAX) return TooLarge("the vocabulary is larger than 4 GB");
  const auto index = static_cast<size_t>(id);
  if (index >= spans_.size()) spans_.resize(index + 1);
  if (spans_[index].length != 0) {
    if (Bytes(static_cast<int32_t>(id)) == bytes) return OkStatus();
    return InvalidArgument("token id {} is given twice", id);
  }
  spans_[index] = {static_cast<uint32_t>(bytes_.size()), static_cast<uint32_t>(bytes.size())};
  bytes_.append(bytes);
  if (used_ * 2 >= table_.size()) GrowTable();
  int32_t& slot = table_[Slot(bytes)];
  if (slot < 0) {
    slot = static_cast<int32_t>(id);
    ++used_;
  }
  return OkStatus();
}

std::optional<int32_t> Vocabulary::Find(std::string_view bytes) const {
  if (table_.empty() || bytes.empty()) return std::nullopt;
  const int32_t id = table_[Slot(bytes)];
  if (id < 0) return std::nullopt;
  return id;
}

}  // namespace saccade
