#include "server/worker_pool.h"

#include <exception>

#include "base/log.h"

namespace saccade {

WorkerPool::WorkerPool(int threads, size_t max_queued) : max_queued_(max_queued) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Loop(); });
}

bool WorkerPool::TrySubmit(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    if (stopped_ || jobs_.size() >= max_queued_) return false;
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::Stop() {
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    dropped.swap(jobs_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

size_t WorkerPool::queued() const {
  const std::lock_guard lock(mutex_);
  return jobs_.size();
}

void WorkerPool::Loop() {
  while (true) {
    std::function<void()> job;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopped_ || !jobs_.empty(); });
      if (stopped_) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    // A job answers for its own errors; what still escapes (out of memory) must not end the server.
    try {
      job();
    } catch (const std::exception& error) {
      Log(LogLevel::kError, "worker_job_threw", {{"what", error.what()}});
    }
  }
}

}  // namespace saccade
