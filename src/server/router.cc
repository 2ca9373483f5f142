#include "server/router.h"

#include <algorithm>

namespace saccade {
namespace {

// True when `path` fits `pattern`; `tail` is then the part that the name in braces stands for.
bool Fits(std::string_view pattern, std::string_view path, std::string_view& tail) {
  const size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) return pattern == path;
  if (path.size() <= brace || path.substr(0, brace) != pattern.substr(0, brace)) return false;
  tail = path.substr(brace);
  return true;
}

void AddMethod(std::vector<std::string>& methods, std::string_view method) {
  if (std::find(methods.begin(), methods.end(), method) == methods.end()) methods.emplace_back(method);
}

}  // namespace

Router::Match Router::Find(std::string_view method, std::string_view path) const {
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  Match match;
  for (const Route& route : routes_) {
    std::string_view tail;
    if (!Fits(route.pattern, path, tail)) continue;
    AddMethod(match.allowed, route.method);
    if (route.method == "GET") AddMethod(match.allowed, "HEAD");
    if (route.method == wanted && match.route == nullptr) {
      match.route = &route;
      match.tail = tail;
    }
  }
  if (!match.allowed.empty()) AddMethod(match.allowed, "OPTIONS");
  return match;
}

}  // namespace saccade
