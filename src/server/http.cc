#include "server/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <random>

namespace saccade {
namespace {

constexpr size_t kMaxRequestIdBytes = 128;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = Lower(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", independent of the locale.
std::string HttpDate() {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[utc.tm_wday], utc.tm_mday,
                     kMonths[utc.tm_mon], utc.tm_year + 1900, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

void AppendHeader(std::string& head, std::string_view name, std::string_view value) {
  head += name;
  head += ": ";
  for (const char c : value) {
    if (c != '\r' && c != '\n' && c != '\0') head += c;
  }
  head += "\r\n";
}

}  // namespace

bool HttpNameEquals(std::string_view a, std::string_view b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return Lower(x) == Lower(y); });
}

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (HttpNameEquals(key, name)) return value;
  }
  return {};
}

std::string_view HttpReason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "Unknown";
  }
}

std::string SerializeResponseHead(const HttpResponse& response, const ResponseFraming& framing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", response.status, HttpReason(response.status));
  AppendHeader(head, "server", "saccade");
  AppendHeader(head, "date", HttpDate());
  if (!framing.request_id.empty()) AppendHeader(head, "x-request-id", framing.request_id);
  AppendHeader(head, "x-content-type-options", "nosniff");
  if (!response.content_type.empty()) AppendHeader(head, "content-type", response.content_type);
  for (const auto& [name, value] : response.headers) AppendHeader(head, name, value);
  if (framing.chunked) {
    if (!framing.http10) AppendHeader(head, "transfer-encoding", "chunked");
  } else if (!framing.no_content_header) {
    AppendHeader(head, "content-length", fmt::format("{}", response.bytes().size()));
  }
  if (!framing.keep_alive) {
    AppendHeader(head, "connection", "close");
  } else if (framing.http10) {
    AppendHeader(head, "connection", "keep-alive");
  }
  head += "\r\n";
  return head;
}

std::string EncodeChunk(std::string_view bytes) { return fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes); }

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

std::string RequestIdFrom(std::string_view sent) {
  const auto harmless = [](char c) {
    return (Lower(c) >= 'a' && Lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.' || c == ':';
  };
  if (!sent.empty() && sent.size() <= kMaxRequestIdBytes && std::all_of(sent.begin(), sent.end(), harmless)) {
    return std::string(sent);
  }
  static const uint64_t process_part = (uint64_t{std::random_device{}()} << 32) | std::random_device{}();
  static std::atomic<uint64_t> counter{0};
  // A bijective mix of a counter: unique within the process, and different processes start elsewhere.
  uint64_t mixed = process_part + counter.fetch_add(1, std::memory_order_relaxed) * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBu;
  return fmt::format("{:016x}", mixed ^ (mixed >> 31));
}

}  // namespace saccade
