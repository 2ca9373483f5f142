#include "server/metrics.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>

namespace saccade {
namespace {

// Label values per family. Routes, methods and status codes are few; the bound keeps a client that invents
// methods from growing the map.
constexpr size_t kMaxLabelSets = 500;
constexpr const char* kOverflowLabels = "overflow=\"true\"";

std::string WithLabel(const std::string& labels, std::string_view extra) {
  return labels.empty() ? std::string(extra) : fmt::format("{},{}", labels, extra);
}

void AppendSample(std::string& text, std::string_view name, const std::string& labels, double value) {
  text += labels.empty() ? fmt::format("{} {}\n", name, value)
                         : fmt::format("{}{{{}}} {}\n", name, labels, value);
}

void AppendHistogram(std::string& text, std::string_view name, const std::string& labels,
                     const std::vector<double>& bounds, const Histogram::Snapshot& snapshot) {
  const std::string bucket = fmt::format("{}_bucket", name);
  for (size_t i = 0; i < snapshot.cumulative.size(); ++i) {
    const bool last = i == bounds.size();
    const std::string bound = last ? "le=\"+Inf\"" : fmt::format("le=\"{}\"", bounds[i]);
    AppendSample(text, bucket, WithLabel(labels, bound), static_cast<double>(snapshot.cumulative[i]));
  }
  AppendSample(text, fmt::format("{}_sum", name), labels, snapshot.sum);
  AppendSample(text, fmt::format("{}_count", name), labels, static_cast<double>(snapshot.cumulative.back()));
}

double ResidentBytes() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/statm", "r"),
                                                             &std::fclose);
  long total = 0, resident = 0;
  if (!file || std::fscanf(file.get(), "%ld %ld", &total, &resident) != 2) return 0;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double OpenFiles() {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), &closedir);
  if (!folder) return 0;
  int count = -3;  // ".", ".." and the folder itself
  while (readdir(folder.get()) != nullptr) ++count;
  return count;
}

}  // namespace

Histogram::Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

void Histogram::Observe(double value) {
  const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value) - bounds_.begin();
  const std::lock_guard lock(mutex_);
  ++counts_[static_cast<size_t>(bucket)];
  sum_ += value;
}

Histogram::Snapshot Histogram::Read() const {
  Snapshot snapshot;
  const std::lock_guard lock(mutex_);
  int64_t total = 0;
  for (const int64_t count : counts_) snapshot.cumulative.push_back(total += count);
  snapshot.sum = sum_;
  return snapshot;
}

std::string MetricLabels(std::initializer_list<std::pair<std::string_view, std::string_view>> labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    text += fmt::format("{}{}=\"", text.empty() ? "" : ",", name);
    for (const char c : value) {
      if (c == '\n') {
        text += "\\n";
        continue;
      }
      if (c == '"' || c == '\\') text += '\\';
      text += c;
    }
    text += '"';
  }
  return text;
}

MetricsRegistry::Family& MetricsRegistry::GetFamily(std::string_view name, std::string_view help,
                                                    std::string_view kind) {
  auto found = families_.find(name);
  if (found == families_.end()) {
    found = families_.emplace(std::string(name), Family{}).first;
    found->second.help = help;
    found->second.kind = kind;
  }
  return found->second;
}

Counter& MetricsRegistry::GetCounter(std::string_view name, std::string_view help,
                                     const std::string& labels) {
  const std::lock_guard lock(mutex_);
  Family& family = GetFamily(name, help, "counter");
  const bool full = family.counters.size() >= kMaxLabelSets && !family.counters.contains(labels);
  return family.counters[full ? kOverflowLabels : labels];
}

Histogram& MetricsRegistry::GetHistogram(std::string_view name, std::string_view help,
                                         const std::vector<double>& bounds, const std::string& labels) {
  const std::lock_guard lock(mutex_);
  Family& family = GetFamily(name, help, "histogram");
  const bool full = family.histograms.size() >= kMaxLabelSets && !family.histograms.contains(labels);
  return family.histograms.try_emplace(full ? kOverflowLabels : labels, bounds).first->second;
}

void MetricsRegistry::AddCallback(std::string_view name, std::string_view help, std::string_view kind,
                                  std::function<double()> read) {
  const std::lock_guard lock(mutex_);
  GetFamily(name, help, kind).read = std::move(read);
}

void MetricsRegistry::AddHistogramCallback(std::string_view name, std::string_view help,
                                           std::function<HistogramReading()> read) {
  const std::lock_guard lock(mutex_);
  GetFamily(name, help, "histogram").read_histogram = std::move(read);
}

std::string MetricsRegistry::Text() const {
  std::string text;
  const std::lock_guard lock(mutex_);
  for (const auto& [name, family] : families_) {
    text += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, family.help, name, family.kind);
    if (family.read) AppendSample(text, name, "", family.read());
    for (const auto& [labels, counter] : family.counters) {
      AppendSample(text, name, labels, static_cast<double>(counter.value()));
    }
    for (const auto& [labels, histogram] : family.histograms)
      AppendHistogram(text, name, labels, histogram.bounds(), histogram.Read());
    if (family.read_histogram) {
      const HistogramReading reading = family.read_histogram();
      AppendHistogram(text, name, "", reading.bounds, reading.snapshot);
    }
  }
  return text;
}

void AddProcessMetrics(MetricsRegistry& registry) {
  registry.AddCallback("process_resident_memory_bytes", "Resident memory size in bytes.", "gauge",
                       ResidentBytes);
  registry.AddCallback("process_cpu_seconds_total", "User and system CPU time spent in seconds.", "counter",
                       CpuSeconds);
  registry.AddCallback("process_open_fds", "Number of open file descriptors.", "gauge", OpenFiles);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const double started = std::chrono::duration<double>(now).count();
  registry.AddCallback("process_start_time_seconds", "Start time of the process since the epoch in seconds.",
                       "gauge", [started] { return started; });
}

const std::vector<double>& DurationBounds() {
  static const std::vector<double> bounds = {0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1,  2.5,
                                             5,     10,   20,   40,  80,   160, 320};
  return bounds;
}

}  // namespace saccade
