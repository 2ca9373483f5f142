#include "server/running_answers.h"

#include <utility>
#include <vector>

namespace saccade {

void RunningAnswers::Add(const std::string& name, const void* answer, Entry entry) {
  const std::lock_guard lock(mutex_);
  entries_.emplace(name, std::pair(answer, std::move(entry)));
}

void RunningAnswers::Remove(const std::string& name, const void* answer) {
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = entries_.equal_range(name);
  for (auto entry = begin; entry != end; ++entry) {
    if (entry->second.first != answer) continue;
    entries_.erase(entry);
    return;
  }
}

int RunningAnswers::Stop(const std::string& name, std::string_view user) {
  std::vector<std::function<void()>> stops;  // called without the lock: they may come back here
  {
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = entries_.equal_range(name);
    for (auto entry = begin; entry != end; ++entry) {
      if (entry->second.second.user == user) stops.push_back(entry->second.second.stop);
    }
  }
  for (const auto& stop : stops) stop();
  return static_cast<int>(stops.size());
}

size_t RunningAnswers::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace saccade
