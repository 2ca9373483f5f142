// A few threads with a bounded queue for handlers that take their time, such as decoding pictures.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace saccade {

// Thread-safe. Unlike base/thread_pool, which splits one computation, this runs independent jobs.
class WorkerPool {
 public:
  WorkerPool(int threads, size_t max_queued);
  ~WorkerPool() { Stop(); }

  // False when the queue is full or the pool has stopped; the job is then not run.
  bool TrySubmit(std::function<void()> job);

  // Drops what is queued, waits for running jobs. Afterwards nothing runs any more.
  void Stop();

  size_t queued() const;

 private:
  void Loop();

  const size_t max_queued_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace saccade
