// Token ids and their bytes, in both directions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace saccade {

// Filled once, then read-only and thread-safe. Ids may have holes.
class Vocabulary {
 public:
  // Ids are below this. The largest published vocabularies have some 260,000.
  static constexpr int64_t kMaxId = int64_t{1} << 22;

  // Adding the same id twice is an error unless the bytes are equal. When several ids have the same bytes,
  // Find gives the one added first.
  Status Add(int64_t id, std::string_view bytes);

  std::string_view Bytes(int32_t id) const {
    if (id < 0 || static_cast<size_t>(id) >= spans_.size()) return {};
    const Span& span = spans_[static_cast<size_t>(id)];
    return std::string_view(bytes_).substr(span.offset, span.length);
  }
  std::optional<int32_t> Find(std::string_view bytes) const;

  // One more than the largest id.
  int size() const { return static_cast<int>(spans_.size()); }

 private:
  struct Span {
    uint32_t offset = 0;
    uint32_t length = 0;  // 0: a hole
  };

  size_t Slot(std::string_view bytes) const;
  void GrowTable();

  std::string bytes_;
  std::vector<Span> spans_;
  std::vector<int32_t> table_;  // open addressing, a power of two, at most half full; -1 is free
  size_t used_ = 0;
};

}  // namespace saccade
