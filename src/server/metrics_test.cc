#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/sse.h"

namespace saccade {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, TextFormat) {
  MetricsRegistry registry;
  registry.GetCounter("requests_total", "Requests.", MetricLabels({{"route", "/a\"b\\\n"}})).Add(3);
  registry.GetCounter("requests_total", "Requests.").Add();
  registry.AddCallback("now", "A gauge.", "gauge", [] { return 2.5; });
  EXPECT_EQ(registry.Text(),
            "# HELP now A gauge.\n# TYPE now gauge\nnow 2.5\n"
            "# HELP requests_total Requests.\n# TYPE requests_total counter\n"
            "requests_total 1\nrequests_total{route=\"/a\\\"b\\\\\\n\"} 3\n");
}

TEST(Metrics, HistogramCountsUpToEachBound) {
  MetricsRegistry registry;
  Histogram& histogram = registry.GetHistogram("seconds", "Time.", {0.1, 1}, MetricLabels({{"r", "x"}}));
  for (const double value : {0.05, 0.1, 0.5, 7.0}) histogram.Observe(value);
  EXPECT_EQ(registry.Text(),
            "# HELP seconds Time.\n# TYPE seconds histogram\n"
            "seconds_bucket{r=\"x\",le=\"0.1\"} 2\nseconds_bucket{r=\"x\",le=\"1\"} 3\n"
            "seconds_bucket{r=\"x\",le=\"+Inf\"} 4\nseconds_sum{r=\"x\"} 7.65\nseconds_count{r=\"x\"} 4\n");
}

TEST(Metrics, InventedLabelsDoNotGrowForEver) {
  MetricsRegistry registry;
  for (int i = 0; i < 2000; ++i)
    registry.GetCounter("c", "h", MetricLabels({{"m", std::to_string(i)}})).Add();
  EXPECT_THAT(registry.Text(), HasSubstr("c{overflow=\"true\"} 1500"));
}

TEST(Metrics, ProcessValuesAreThere) {
  MetricsRegistry registry;
  AddProcessMetrics(registry);
  const std::string text = registry.Text();
  for (const char* name : {"process_resident_memory_bytes ", "process_cpu_seconds_total ",
                           "process_open_fds ", "process_start_time_seconds "}) {
    EXPECT_THAT(text, HasSubstr(name));
  }
  EXPECT_EQ(text.find("process_resident_memory_bytes 0\n"), std::string::npos);
}

TEST(Sse, FramesEvents) {
  EXPECT_EQ(SseData("{}"), "data: {}\n\n");
  EXPECT_EQ(SseComment("queued 2"), ": queued 2\n\n");
  EXPECT_EQ(SseComment("a\nb\r"), ": a b \n\n");
}

}  // namespace
}  // namespace saccade
