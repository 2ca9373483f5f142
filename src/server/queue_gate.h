// Refuses requests from their header alone when the engine's queue is full, counting those that are still
// being received or prepared: a refusal then costs no upload and no decoded picture.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "engine/engine.h"

namespace saccade {

// Thread-safe.
class QueueGate {
 public:
  // A place among the waiting requests, to be let go of when the engine has the request; null when there is
  // none left.
  std::shared_ptr<const void> Enter(const EngineStats& stats) {
    const std::lock_guard lock(count_->mutex);
    if (stats.max_waiting > 0 && stats.waiting + count_->preparing >= stats.max_waiting) return nullptr;
    ++count_->preparing;
    return {count_.get(), [count = count_](const void*) {
              const std::lock_guard inner(count->mutex);
              --count->preparing;
            }};
  }

 private:
  struct Count {
    std::mutex mutex;
    int64_t preparing = 0;
  };
  const std::shared_ptr<Count> count_ = std::make_shared<Count>();  // places may outlive the gate
};

}  // namespace saccade
