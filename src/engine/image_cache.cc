#include "engine/image_cache.h"

#include <algorithm>
#include <cmath>

namespace saccade {
namespace {

bool AllFinite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

bool AllFinite(const ImageFeatures& features) {
  return AllFinite(features.merged) &&
         std::all_of(features.deepstack.begin(), features.deepstack.end(),
                     [](const std::vector<float>& values) { return AllFinite(values); });
}

}  // namespace

ImageCache::Features ImageCache::Find(const Sha256Digest& digest) {
  const auto found = index_.find(digest);
  if (found == index_.end()) {
    ++misses_;
    return nullptr;
  }
  ++hits_;
  entries_.splice(entries_.begin(), entries_, found->second);
  return found->second->features;
}

void ImageCache::Insert(const Sha256Digest& digest, Features features) {
  const auto size = static_cast<int64_t>(features->bytes());
  if (size > capacity_bytes_ || index_.count(digest) > 0 || !AllFinite(*features)) return;
  while (bytes_ + size > capacity_bytes_) {
    bytes_ -= static_cast<int64_t>(entries_.back().features->bytes());
    index_.erase(entries_.back().digest);
    entries_.pop_back();
  }
  entries_.push_front({digest, std::move(features)});
  index_[digest] = entries_.begin();
  bytes_ += size;
}

}  // namespace saccade
