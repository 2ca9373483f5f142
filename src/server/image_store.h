// Pictures and documents that clients sent once to refer to them later: POST /v1/images.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace saccade {

// What stands before an id where a picture's URL is expected.
inline constexpr std::string_view kStoredImagePrefix = "saccade-image:";

struct ImageStoreOptions {
  size_t max_bytes = size_t{256} << 20;  // of all files together; 0: nothing is kept
  std::chrono::seconds lifetime{3600};   // after the last use
};

// In memory only: a restart forgets everything. Ids depend on the contents, so the same file of the same
// owner is kept once; and on a secret of the process, so that they cannot be guessed from the contents. Who
// knows an id may use it. Thread-safe.
class ImageStore {
 public:
  using Clock = std::chrono::steady_clock;
  using Bytes = std::shared_ptr<const std::vector<std::byte>>;
  // `now` is the clock, for tests.
  explicit ImageStore(ImageStoreOptions options, std::function<Clock::time_point()> now = Clock::now);

  struct Kept {
    std::string id;
    Bytes bytes;
    std::chrono::seconds expires_in{0};
  };
  // Makes room by forgetting what was not used for longest. kTooLarge when one file is over the limit.
  Result<Kept> Put(std::string_view owner, Bytes bytes);
  // Counts as a use. kNotFound when unknown, expired or forgotten.
  Result<Kept> Get(std::string_view id);
  bool Remove(std::string_view id);

  size_t bytes() const;
  size_t count() const;
  const ImageStoreOptions& options() const { return options_; }

 private:
  struct Entry {
    std::string id;
    Bytes bytes;
    Clock::time_point expires;
  };
  using Entries = std::list<Entry>;  // the last used one first; so the first to expire is the last

  std::string IdOf(std::string_view owner, const std::vector<std::byte>& bytes) const;
  void Erase(Entries::iterator entry);
  void DropExpired();
  Kept Use(Entries::iterator entry);

  const ImageStoreOptions options_;
  const std::function<Clock::time_point()> now_;
  const std::string secret_;
  mutable std::mutex mutex_;
  Entries entries_;
  std::unordered_map<std::string, Entries::iterator> by_id_;
  size_t bytes_ = 0;
};

}  // namespace saccade
