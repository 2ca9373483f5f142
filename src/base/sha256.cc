#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/check.h"

namespace saccade {
namespace {

EVP_MD_CTX* Context(void* context) { return static_cast<EVP_MD_CTX*>(context); }

}  // namespace

// OpenSSL fails here only when memory is exhausted or a FIPS policy forbids SHA-256: neither can be handled.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  SACCADE_CHECK(context_ != nullptr && EVP_DigestInit_ex(Context(context_), EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() { EVP_MD_CTX_free(Context(context_)); }

void Sha256::Update(std::span<const std::byte> bytes) {
  SACCADE_CHECK(EVP_DigestUpdate(Context(context_), bytes.data(), bytes.size()) == 1);
}

Sha256Digest Sha256::Finish() {
  Sha256Digest digest{};
  SACCADE_CHECK(EVP_DigestFinal_ex(Context(context_), digest.data(), nullptr) == 1);
  return digest;
}

Sha256Digest Sha256Of(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

std::string ToHex(const Sha256Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace saccade
