// HTTP messages as the handlers see them: plain data, no sockets and no network library.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace saccade {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// Names compare without regard to case.
bool HttpNameEquals(std::string_view a, std::string_view b);

// Who sent a request, as far as routes may care.
struct Caller {
  std::string user;         // whose turn it is in the queue, and who may stop an answer; empty: nobody known
  std::string cache_scope;  // cached pictures and prompts are shared inside it
  std::string key_name;     // for the log; empty without keys
  bool batch = false;       // everything of this caller is of the batch class
};

struct HttpRequest {
  std::string id;      // x-request-id as sent, or a fresh one
  std::string method;  // "GET", ...; as sent
  std::string path;    // percent-decoded, without the query, begins with '/'
  std::string query;   // raw, without '?'
  std::string peer;    // address of the client
  HttpHeaders headers;
  std::string body;
  std::string path_tail;  // what "{name}" at the end of the route's pattern matched
  Caller caller;
  std::shared_ptr<const void> lease;        // a place taken for the request, given back when it is answered
  std::shared_ptr<const void> queue_place;  // see queue_gate.h; given back when the engine has the request
  std::chrono::steady_clock::time_point arrived;  // when the last byte of the body was there

  // The first header of that name; empty when absent.
  std::string_view Header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type;
  HttpHeaders headers;
  std::string body;
  std::string_view
      static_body;     // used instead of `body` when not empty; bytes that live as long as the process
  bool close = false;  // end the connection after this answer

  std::string_view bytes() const { return static_body.empty() ? std::string_view(body) : static_body; }
};

// "Not Found" for 404.
std::string_view HttpReason(int status);

// What the server adds to an answer of its own accord.
struct ResponseFraming {
  std::string_view request_id;
  bool keep_alive = true;
  bool chunked = false;            // body of unknown length follows in chunks
  bool http10 = false;             // neither chunks nor implied keep-alive
  bool no_content_header = false;  // 204 and 304: no content-length at all
};
// Status line and headers up to the empty line. Line breaks in header values are dropped.
std::string SerializeResponseHead(const HttpResponse& response, const ResponseFraming& framing);
// One chunk of a chunked body; `bytes` is not empty.
std::string EncodeChunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Replaces %XX; nullopt when a percent sign is not followed by two hex digits, or a zero byte results.
std::optional<std::string> PercentDecode(std::string_view text);

// A client's x-request-id is kept when it is short and harmless, otherwise a random one is made.
std::string RequestIdFrom(std::string_view sent);

}  // namespace saccade
