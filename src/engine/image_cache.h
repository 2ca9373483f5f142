// Encoded pictures by content, bounded in bytes, so that the same picture is not encoded twice.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <utility>

#include "base/sha256.h"
#include "model/model.h"

namespace saccade {

// The key is PictureDigest(), the SHA-256 of the pixels after preprocessing and their grid. Least recently
// used goes first. Engine thread only.
class ImageCache {
 public:
  using Features = std::shared_ptr<const ImageFeatures>;
  explicit ImageCache(int64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {}

  // Null when it is not there; counts a hit or a miss.
  Features Find(const Sha256Digest& digest);
  // Drops others to make room. Features that are larger than the cache or hold a number that is not finite
  // are not kept.
  void Insert(const Sha256Digest& digest, Features features);

  int64_t bytes() const { return bytes_; }
  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }

 private:
  struct Entry {
    Sha256Digest digest;
    Features features;
  };
  const int64_t capacity_bytes_;
  int64_t bytes_ = 0, hits_ = 0, misses_ = 0;
  std::list<Entry> entries_;  // last used first
  std::map<Sha256Digest, std::list<Entry>::iterator> index_;
};

}  // namespace saccade
