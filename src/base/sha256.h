// SHA-256 for cache keys, template recognition and downloads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace saccade {

using Sha256Digest = std::array<uint8_t, 32>;

// Hashes a stream. Thread-compatible.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text) { Update(std::as_bytes(std::span(text))); }

  // The digest of everything so far. Call it once, last.
  Sha256Digest Finish();

 private:
  void* context_;  // EVP_MD_CTX
};

Sha256Digest Sha256Of(std::span<const std::byte> bytes);
inline Sha256Digest Sha256Of(std::string_view text) { return Sha256Of(std::as_bytes(std::span(text))); }

// 64 lower-case digits.
std::string ToHex(const Sha256Digest& digest);

}  // namespace saccade
