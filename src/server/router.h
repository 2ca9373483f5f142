// The routing table: which handler answers which method and path, and on which thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/exchange.h"

namespace saccade {

using HttpHandler = std::function<void(std::shared_ptr<Exchange>)>;

struct Route {
  std::string method;   // "GET" also answers HEAD
  std::string pattern;  // "/v1/models" or, with one name at the end, "/v1/models/{model}"
  HttpHandler handler;
  // A handler that reads pictures or waits runs on the worker pool; all others run on an I/O thread and must
  // return within a millisecond.
  bool on_worker = false;
  size_t max_body_bytes = 0;  // 0: the request has no use for a body; a small one is read and ignored
  bool needs_model = false;   // refused from its header alone while no model is there
  bool queues = false;        // takes a place in the engine's queue, see queue_gate.h
  bool needs_key = true;      // when the server has API keys
};

// Built once, then read-only and thread-safe.
class Router {
 public:
  void Add(Route route) { routes_.push_back(std::move(route)); }
  // For everybody, also when the server has API keys.
  void AddOpen(Route route) {
    route.needs_key = false;
    Add(std::move(route));
  }

  struct Match {
    const Route* route = nullptr;
    std::string tail;                  // what "{name}" stands for
    std::vector<std::string> allowed;  // methods of this path; empty: no such path
  };
  // `path` is percent-decoded. A match of the path but not of the method has no route and a list of methods.
  Match Find(std::string_view method, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace saccade
