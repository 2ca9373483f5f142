#include "base/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <numeric>

namespace saccade {
namespace {

TEST(ThreadPool, RunsOnEveryWorkerOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    std::vector<std::atomic<int>> calls(static_cast<size_t>(threads));
    for (int round = 0; round < 200; ++round)
      pool.Run([&](int worker) { ++calls[static_cast<size_t>(worker)]; });
    for (const auto& count : calls) EXPECT_EQ(count, 200);
  }
}

TEST(ThreadPool, EveryTaskRunsExactlyOnce) {
  ThreadPool pool(4);
  for (int64_t tasks : {0, 1, 2, 3, 4, 5, 1000}) {
    std::vector<std::atomic<int>> done(static_cast<size_t>(tasks));
    pool.ParallelFor(tasks, [&](int64_t task, int worker) {
      EXPECT_LT(worker, 4);
      ++done[static_cast<size_t>(task)];
    });
    for (const auto& count : done) EXPECT_EQ(count, 1);
  }
}

TEST(ThreadPool, WorkersSleepWhenIdle) {
  ThreadPool pool(4);
  pool.Run([](int) {});
  const auto cpu_seconds = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
  };
  // Let the spinning end: CPU time of this process stops growing. 0.2 s of wall time would be 0.6 s of
  // spinning.
  const auto wait = [](int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); };
  wait(100);
  const double before = cpu_seconds();
  wait(200);
  EXPECT_LT(cpu_seconds() - before, 0.05);
  std::atomic<int> calls{0};
  pool.Run([&](int) { ++calls; });  // and they wake up again
  EXPECT_EQ(calls, 4);
}

TEST(ThreadPool, WorkOfTheDriverIsVisibleToWorkersAndBack) {
  ThreadPool pool(3);
  std::vector<int64_t> values(3000, 0);
  for (int round = 1; round <= 50; ++round) {
    pool.ParallelFor(3000, [&](int64_t i, int) { values[static_cast<size_t>(i)] += i; });
  }
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), int64_t{0}), int64_t{50} * 3000 * 2999 / 2);
}

}  // namespace
}  // namespace saccade
