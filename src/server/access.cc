#include "server/access.h"

#include "base/sha256.h"
#include "server/error_reply.h"

namespace saccade {
namespace {

// "Authorization: Bearer KEY" as OpenAI clients send it, or "X-Api-Key: KEY".
std::string_view PresentedKey(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view header = request.Header("authorization");
  if (header.size() > kBearer.size() && HttpNameEquals(header.substr(0, kBearer.size()), kBearer)) {
    return header.substr(kBearer.size());
  }
  return request.Header("x-api-key");
}

}  // namespace

std::optional<HttpResponse> Access::Check(HttpRequest& request, const Route& route) {
  const std::string_view presented = PresentedKey(request);
  if (keys_ == nullptr) {
    // The key itself goes no further.
    request.caller.user = presented.empty() ? "address " + request.peer : "key " + ToHex(Sha256Of(presented));
    return std::nullopt;
  }
  if (!route.needs_key) return std::nullopt;
  auto key = keys_->Find(presented);
  if (!key.ok()) {
    metrics_.CountRefused("unauthenticated");
    return ErrorReply(key.status());
  }
  request.caller = {"key " + key->name, key->scope, key->name, key->batch};
  if (!route.on_worker) return std::nullopt;
  ApiKeys::Admission admission = keys_->Admit(*key);
  if (!admission.status.ok()) {
    metrics_.CountRefused("api_key_limit");
    return ErrorReply(admission.status, admission.retry_after_seconds);
  }
  request.lease = std::move(admission.lease);
  return std::nullopt;
}

}  // namespace saccade
