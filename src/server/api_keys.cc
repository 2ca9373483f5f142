#include "server/api_keys.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/file.h"
#include "base/log.h"

namespace saccade {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 20;
constexpr std::chrono::seconds kCheckInterval{1};
constexpr int kMaxLimit = 1'000'000;
constexpr std::string_view kHashPrefix = "sha256:";

std::vector<std::string_view> Words(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  std::vector<std::string_view> words;
  size_t at = 0;
  while ((at = line.find_first_not_of(kSpace, at)) != std::string_view::npos) {
    const size_t end = std::min(line.find_first_of(kSpace, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

bool ReadHash(std::string_view word, Sha256Digest& digest) {
  if (!word.starts_with(kHashPrefix)) return false;
  word.remove_prefix(kHashPrefix.size());
  if (word.size() != digest.size() * 2) return false;
  for (size_t i = 0; i < digest.size(); ++i) {
    const char* const from = word.data() + 2 * i;
    const auto [end, error] = std::from_chars(from, from + 2, digest[i], 16);
    if (error != std::errc() || end != from + 2) return false;
  }
  return true;
}

Status ReadLimit(std::string_view word, int line, ApiKey& key) {
  if (word == "batch") {
    key.batch = true;
    return OkStatus();
  }
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (name == "scope" && !value.empty()) {
    key.scope = value;
    return OkStatus();
  }
  int* const limit = name == "max-concurrent"        ? &key.max_concurrent
                     : name == "requests-per-minute" ? &key.requests_per_minute
                                                     : nullptr;
  if (limit != nullptr) {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), *limit);
    const bool whole = error == std::errc() && end == value.data() + value.size();
    if (whole && *limit >= 1 && *limit <= kMaxLimit) return OkStatus();
  }
  return InvalidArgument(
      "line {}: after name and hash may come max-concurrent=N, requests-per-minute=N, scope=NAME and batch",
      line);
}

Result<ApiKey> ReadKey(const std::vector<std::string_view>& words, int line) {
  ApiKey key;
  key.name = words.front();
  key.scope = key.name;
  if (words.size() < 2 || !ReadHash(words[1], key.digest)) {
    return InvalidArgument("line {}: after the name comes sha256: and the 64 hex digits of the key's hash",
                           line);
  }
  for (size_t i = 2; i < words.size(); ++i) SACCADE_RETURN_IF_ERROR(ReadLimit(words[i], line, key));
  return key;
}

}  // namespace

Result<std::vector<ApiKey>> ParseApiKeys(std::string_view text) {
  std::vector<ApiKey> keys;
  int line = 0;
  while (!text.empty()) {
    ++line;
    const size_t end = std::min(text.find('\n'), text.size());
    const auto words = Words(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty() || words.front().starts_with('#')) continue;
    SACCADE_ASSIGN_OR_RETURN(ApiKey key, ReadKey(words, line));
    const bool again =
        std::any_of(keys.begin(), keys.end(), [&](const ApiKey& other) { return other.name == key.name; });
    if (again) return InvalidArgument("line {}: the name \"{}\" is there twice", line, key.name);
    keys.push_back(std::move(key));
  }
  return keys;
}

Result<std::unique_ptr<ApiKeys>> ApiKeys::Load(std::filesystem::path file, Now now) {
  auto keys = std::unique_ptr<ApiKeys>(new ApiKeys(std::move(file), std::move(now)));
  const std::lock_guard lock(keys->mutex_);
  SACCADE_RETURN_IF_ERROR(keys->Reload());
  return keys;
}

// Under the lock.
Status ApiKeys::Reload() {
  std::error_code error;
  const Version version = {std::filesystem::last_write_time(file_, error),
                           std::filesystem::file_size(file_, error)};
  SACCADE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file_, kMaxFileBytes));
  auto keys = ParseApiKeys(text);
  version_ = version;  // a broken file is reported once, not every second
  checked_ = now_();
  if (!keys.ok()) return std::move(keys).status().WithContext("API keys in " + file_.string());
  if (keys->empty())
    return InvalidArgument("{} holds no API key; make one with `saccade key`", file_.string());
  keys_ = std::move(*keys);
  return OkStatus();
}

void ApiKeys::ReloadIfChanged() {
  const auto now = now_();
  if (now - checked_ < kCheckInterval) return;
  checked_ = now;
  std::error_code error;
  const auto changed = std::filesystem::last_write_time(file_, error);
  const uintmax_t bytes = error ? 0 : std::filesystem::file_size(file_, error);
  // A file that is being replaced may be missing for a moment.
  if (error || Version{changed, bytes} == version_) return;
  const Status status = Reload();
  if (status.ok()) {
    Log(LogLevel::kInfo, "api_keys_read", {{"keys", keys_.size()}});
  } else {
    Log(LogLevel::kError, "api_keys_kept", {{"reason", status.message()}});
  }
}

Result<ApiKey> ApiKeys::Find(std::string_view presented) {
  const Sha256Digest digest = Sha256Of(presented);
  const std::lock_guard lock(mutex_);
  ReloadIfChanged();
  const ApiKey* found = nullptr;
  for (const ApiKey& key : keys_) {  // all of them, each in the same time
    if (CRYPTO_memcmp(key.digest.data(), digest.data(), digest.size()) == 0) found = &key;
  }
  if (found != nullptr && !presented.empty()) return *found;
  if (presented.empty()) {
    return Unauthenticated("this server wants an API key in the header \"Authorization: Bearer ...\"");
  }
  return Unauthenticated("the API key is not one of this server's");
}

ApiKeys::Admission ApiKeys::Admit(const ApiKey& key) {
  const auto now = now_();
  const std::lock_guard lock(uses_->mutex);
  Use& use = uses_->by_name[key.name];
  if (key.max_concurrent > 0 && use.running >= key.max_concurrent) {
    return {ResourceExhausted("{} requests of this API key are running, its limit", use.running), 1, nullptr};
  }
  if (key.requests_per_minute > 0) {
    const double per_second = key.requests_per_minute / 60.0;
    const double passed = std::chrono::duration<double>(now - use.refilled).count();
    const double full = key.requests_per_minute;
    use.tokens = use.seen ? std::min(full, use.tokens + passed * per_second) : full;
    use.refilled = now;
    use.seen = true;
    if (use.tokens < 1) {
      const int wait = std::max(1, static_cast<int>(std::ceil((1 - use.tokens) / per_second)));
      return {ResourceExhausted("this API key may send {} requests per minute", key.requests_per_minute),
              wait, nullptr};
    }
    use.tokens -= 1;
  }
  ++use.running;
  // The pointer stands for the place; what it points to does not matter.
  return {OkStatus(), 0,
          std::shared_ptr<const void>(uses_.get(), [uses = uses_, name = key.name](const void*) {
            const std::lock_guard inner(uses->mutex);
            --uses->by_name[name].running;
          })};
}

}  // namespace saccade
