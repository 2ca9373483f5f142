#include "base/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>

namespace saccade {
namespace {

// How long a worker polls before it sleeps. Layers of one step follow each other within a few microseconds;
// a futex wake costs about 5-50 us on a virtual machine, so short gaps are bridged by spinning. Polling
// yields the core when the machine is oversubscribed.
constexpr int kSpinIterations = 4000;
constexpr int kSpinsBetweenYields = 256;

void CpuRelax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <class Condition>
bool SpinUntil(Condition&& condition) {
  for (int i = 1; i <= kSpinIterations; ++i) {
    if (condition()) return true;
    CpuRelax();
    if (i % kSpinsBetweenYields == 0) std::this_thread::yield();
  }
  return condition();
}

void PinCurrentThread(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set),
                         &set);  // best effort: a mask may have changed meanwhile
}

}  // namespace

ThreadPool::ThreadPool(int threads, std::vector<int> cpus) : threads_(std::max(1, threads)) {
  workers_.reserve(static_cast<size_t>(threads_ - 1));
  for (int worker = 1; worker < threads_; ++worker) {
    const int cpu = static_cast<size_t>(worker) < cpus.size() ? cpus[static_cast<size_t>(worker)] : -1;
    workers_.emplace_back([this, worker, cpu] { WorkerLoop(worker, cpu); });
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard lock(mutex_);
    stop_.store(true, std::memory_order_release);
  }
  wake_.notify_all();
  for (std::thread& thread : workers_) thread.join();
}

void ThreadPool::Run(FunctionRef<void(int)> body) {
  if (threads_ == 1) {
    body(0);
    return;
  }
  body_ = &body;
  running_.store(threads_ - 1, std::memory_order_relaxed);
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    generation_.fetch_add(1, std::memory_order_release);
    wake = sleepers_ > 0;
  }
  if (wake) wake_.notify_all();
  body(0);
  while (running_.load(std::memory_order_acquire) != 0) {
    SpinUntil([this] { return running_.load(std::memory_order_acquire) == 0; });
  }
  body_ = nullptr;
}

void ThreadPool::ParallelFor(int64_t tasks, FunctionRef<void(int64_t, int)> body) {
  if (tasks <= 0) return;
  if (threads_ == 1 || tasks == 1) {
    for (int64_t task = 0; task < tasks; ++task) body(task, 0);
    return;
  }
  std::atomic<int64_t> next{0};
  Run([&](int worker) {
    for (int64_t task = next.fetch_add(1, std::memory_order_relaxed); task < tasks;
         task = next.fetch_add(1, std::memory_order_relaxed)) {
      body(task, worker);
    }
  });
}

void ThreadPool::WorkerLoop(int worker, int cpu) {
  if (cpu >= 0) PinCurrentThread(cpu);
  uint64_t seen = 0;
  const auto has_work = [this, &seen] {
    return generation_.load(std::memory_order_acquire) != seen || stop_.load(std::memory_order_acquire);
  };
  for (;;) {
    if (!SpinUntil(has_work)) {
      std::unique_lock lock(mutex_);
      ++sleepers_;
      wake_.wait(lock, has_work);
      --sleepers_;
    }
    if (stop_.load(std::memory_order_acquire)) return;
    seen = generation_.load(std::memory_order_acquire);
    (*body_)(worker);
    running_.fetch_sub(1, std::memory_order_release);
  }
}

}  // namespace saccade
