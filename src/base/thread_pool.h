// A fixed set of pinned compute threads driven by one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/function_ref.h"

namespace saccade {

// Thread rule: thread-compatible. One driver thread calls Run/ParallelFor; it takes part as worker 0, so a
// pool of N has N - 1 threads of its own. Workers spin for some microseconds between calls of one step and
// then sleep on a condition variable: an idle pool uses no CPU.
class ThreadPool {
 public:
  // `cpus[i]` is where worker i is pinned; empty means not pinned. At least one thread. The driver itself is
  // never pinned here: the engine thread pins itself when it starts.
  explicit ThreadPool(int threads, std::vector<int> cpus = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_; }

  // Calls body(worker) once on every worker, 0 <= worker < threads(), and returns when all have finished.
  void Run(FunctionRef<void(int worker)> body);

  // Calls body(task, worker) for every task in [0, tasks), handed out one by one to whoever is free. The
  // assignment of tasks to workers varies; results must not depend on it.
  void ParallelFor(int64_t tasks, FunctionRef<void(int64_t task, int worker)> body);

 private:
  void WorkerLoop(int worker, int cpu);

  const int threads_;
  std::vector<std::thread> workers_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<int> running_{0};
  std::atomic<bool> stop_{false};
  FunctionRef<void(int)>* body_ = nullptr;
  std::mutex mutex_;
  std::condition_variable wake_;
  int sleepers_ = 0;
};

}  // namespace saccade
