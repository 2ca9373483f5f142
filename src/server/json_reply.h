// An answer whose body is JSON.
#pragma once

#include "base/json.h"
#include "server/http.h"

namespace saccade {

// 200, not to be cached. Invalid UTF-8 becomes U+FFFD.
inline HttpResponse JsonReply(const OrderedJson& body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.headers.emplace_back("cache-control", "no-store");
  response.body = body.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  return response;
}

}  // namespace saccade
