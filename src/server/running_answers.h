// The answers under way, by the names that a client may use to stop one.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace saccade {

// Thread-safe.
class RunningAnswers {
 public:
  struct Entry {
    std::string user;  // who may stop it
    std::function<void()> stop;
  };

  // `name` is the answer's id or the id of its HTTP request; several answers may share the latter.
  void Add(const std::string& name, const void* answer, Entry entry);
  void Remove(const std::string& name, const void* answer);

  // Stops the answers of that name that belong to `user`; the number of them.
  int Stop(const std::string& name, std::string_view user);

  size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::multimap<std::string, std::pair<const void*, Entry>> entries_;
};

}  // namespace saccade
