// API keys: a file of hashes that is read again when it changes, and what each key may use at once.
//
//   # name    hash of the key           optional limits
//   billing   sha256:<64 hex digits>    max-concurrent=4 requests-per-minute=60
//   nightly   sha256:<64 hex digits>    batch scope=billing
//
// `saccade key NAME` makes a key and its line.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/sha256.h"
#include "base/status.h"

namespace saccade {

struct ApiKey {
  std::string name;  // goes to the log; the key itself is stored nowhere
  Sha256Digest digest{};
  std::string scope;            // keys of one scope share cached pictures and prompts; default: the name
  int max_concurrent = 0;       // requests at once; 0: no limit
  int requests_per_minute = 0;  // 0: no limit; a minute's worth may come at once
  bool batch = false;           // all its requests are of the batch class
};

// The lines of such a file. Errors name the line.
Result<std::vector<ApiKey>> ParseApiKeys(std::string_view text);

// Thread-safe.
class ApiKeys {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = std::function<Clock::time_point()>;

  // Fails when the file cannot be read or holds no key. Later it is looked at once a second: a changed file
  // counts from then on; a broken one is logged and the keys before it stay valid.
  static Result<std::unique_ptr<ApiKeys>> Load(std::filesystem::path file, Now now = Clock::now);

  // kUnauthenticated unless `presented` is one of the keys. Takes the same time for every wrong one.
  Result<ApiKey> Find(std::string_view presented);

  // A place among the requests of a key, given back when the last copy of `lease` goes.
  struct Admission {
    Status status;                // kResourceExhausted: over one of the key's limits
    int retry_after_seconds = 0;  // then: when another try makes sense
    std::shared_ptr<const void> lease;
  };
  Admission Admit(const ApiKey& key);

 private:
  struct Use {
    int running = 0;
    double tokens = 0;  // requests that may come now
    Clock::time_point refilled;
    bool seen = false;
  };
  struct Version {
    std::filesystem::file_time_type changed;
    uintmax_t bytes = 0;
    bool operator==(const Version&) const = default;
  };

  ApiKeys(std::filesystem::path file, Now now) : file_(std::move(file)), now_(std::move(now)) {}
  Status Reload();
  void ReloadIfChanged();

  const std::filesystem::path file_;
  const Now now_;
  std::mutex mutex_;
  std::vector<ApiKey> keys_;
  Version version_;
  Clock::time_point checked_;
  // By name. Shared with the leases, which may outlive this object.
  struct Uses {
    std::mutex mutex;
    std::map<std::string, Use> by_name;
  };
  const std::shared_ptr<Uses> uses_ = std::make_shared<Uses>();
};

}  // namespace saccade
