#include "server/image_store.h"

#include <random>

#include "base/sha256.h"

namespace saccade {
namespace {

std::string RandomSecret() {
  std::random_device device;  // getrandom or the processor's generator
  std::string secret(32, '\0');
  for (char& c : secret) c = static_cast<char>(device());
  return secret;
}

}  // namespace

ImageStore::ImageStore(ImageStoreOptions options, std::function<Clock::time_point()> now)
    : options_(options), now_(std::move(now)), secret_(RandomSecret()) {}

std::string ImageStore::IdOf(std::string_view owner, const std::vector<std::byte>& bytes) const {
  const Sha256Digest owner_digest = Sha256Of(owner), contents = Sha256Of(std::span(bytes));
  Sha256 hash;
  hash.Update(secret_);
  hash.Update(std::as_bytes(std::span(owner_digest)));
  hash.Update(std::as_bytes(std::span(contents)));
  return "img_" + ToHex(hash.Finish()).substr(0, 40);
}

void ImageStore::Erase(Entries::iterator entry) {
  bytes_ -= entry->bytes->size();
  by_id_.erase(entry->id);
  entries_.erase(entry);
}

void ImageStore::DropExpired() {
  const auto now = now_();
  while (!entries_.empty() && entries_.back().expires <= now) Erase(std::prev(entries_.end()));
}

ImageStore::Kept ImageStore::Use(Entries::iterator entry) {
  entry->expires = now_() + options_.lifetime;
  entries_.splice(entries_.begin(), entries_, entry);
  return {entry->id, entry->bytes, options_.lifetime};
}

Result<ImageStore::Kept> ImageStore::Put(std::string_view owner, Bytes bytes) {
  if (bytes->size() > options_.max_bytes) {
    return TooLarge("the file has {} bytes, the server keeps {} bytes of uploaded pictures in all",
                    bytes->size(), options_.max_bytes);
  }
  std::string id = IdOf(owner, *bytes);
  const std::lock_guard lock(mutex_);
  DropExpired();
  if (const auto known = by_id_.find(id); known != by_id_.end()) return Use(known->second);
  while (bytes_ + bytes->size() > options_.max_bytes) Erase(std::prev(entries_.end()));
  bytes_ += bytes->size();
  entries_.push_front({id, std::move(bytes), {}});
  by_id_.emplace(std::move(id), entries_.begin());
  return Use(entries_.begin());
}

Result<ImageStore::Kept> ImageStore::Get(std::string_view id) {
  const std::lock_guard lock(mutex_);
  DropExpired();
  const auto known = by_id_.find(std::string(id));
  if (known == by_id_.end()) {
    return NotFound(
        "no uploaded picture has the id \"{}\": it never had one, or it was not used for {} s, or room "
        "was needed for others; upload it again",
        id.substr(0, 60), options_.lifetime.count());
  }
  return Use(known->second);
}

bool ImageStore::Remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto known = by_id_.find(std::string(id));
  if (known == by_id_.end()) return false;
  Erase(known->second);
  return true;
}

size_t ImageStore::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

size_t ImageStore::count() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace saccade
