// Counters, gauges and histograms in the Prometheus text format.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace saccade {

class Counter {
 public:
  void Add(int64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Counts observations per bucket; the bounds are upper ends, ascending.
class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds);
  void Observe(double value);

  struct Snapshot {
    std::vector<int64_t> cumulative;  // per bound, then everything
    double sum = 0;
  };
  Snapshot Read() const;
  const std::vector<double>& bounds() const { return bounds_; }

 private:
  const std::vector<double> bounds_;
  mutable std::mutex mutex_;
  std::vector<int64_t> counts_;
  double sum_ = 0;
};

// `{"route": "/x"}` as it stands between braces, with values escaped.
std::string MetricLabels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels);

// Owns the metrics; references stay valid as long as the registry. Thread-safe.
class MetricsRegistry {
 public:
  // The counter of that name and these labels, made on first use.
  Counter& GetCounter(std::string_view name, std::string_view help, const std::string& labels = "");
  Histogram& GetHistogram(std::string_view name, std::string_view help, const std::vector<double>& bounds,
                          const std::string& labels = "");
  // A value that is asked for at every scrape. `kind` is "gauge" or "counter".
  void AddCallback(std::string_view name, std::string_view help, std::string_view kind,
                   std::function<double()> read);

  // A histogram that is read at every scrape.
  struct HistogramReading {
    std::vector<double> bounds;
    Histogram::Snapshot snapshot;
  };
  void AddHistogramCallback(std::string_view name, std::string_view help,
                            std::function<HistogramReading()> read);

  std::string Text() const;

 private:
  struct Family {
    std::string help, kind;
    std::map<std::string, Counter> counters;  // by labels; map nodes never move
    std::map<std::string, Histogram> histograms;
    std::function<double()> read;
    std::function<HistogramReading()> read_histogram;
  };
  Family& GetFamily(std::string_view name, std::string_view help, std::string_view kind);

  mutable std::mutex mutex_;
  std::map<std::string, Family, std::less<>> families_;
};

// Resident memory, CPU time, open files and start time of this process under the customary names.
void AddProcessMetrics(MetricsRegistry& registry);

// Upper bounds in seconds that suit both a health check and a large picture on a slow machine.
const std::vector<double>& DurationBounds();

}  // namespace saccade
