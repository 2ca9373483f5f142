#include "server/server_metrics.h"

#include <fmt/format.h>

namespace saccade {
namespace {

// Upper bounds in seconds for the gap between two pieces of an answer.
const std::vector<double>& GapBounds() {
  static const std::vector<double> bounds = {0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5};
  return bounds;
}

MetricsRegistry::HistogramReading BatchWidths(const EngineStats& stats) {
  MetricsRegistry::HistogramReading reading;
  int64_t total = 0;
  for (size_t i = 0; i < stats.steps_by_width.size(); ++i) {
    reading.snapshot.cumulative.push_back(total += stats.steps_by_width[i]);
    if (i + 1 < stats.steps_by_width.size()) reading.bounds.push_back(static_cast<double>(int64_t{1} << i));
  }
  reading.snapshot.sum = static_cast<double>(stats.step_sequences);
  return reading;
}

}  // namespace

ServerMetrics::ServerMetrics() : ServerMetrics(std::make_unique<MetricsRegistry>()) {}

ServerMetrics::ServerMetrics(std::unique_ptr<MetricsRegistry> registry)
    : first_token_seconds(registry->GetHistogram(
          "saccade_time_to_first_token_seconds",
          "From the request's arrival to the first text of its answer.", DurationBounds())),
      token_gap_seconds(registry->GetHistogram("saccade_token_gap_seconds",
                                               "Between two pieces of text of one answer.", GapBounds())),
      queue_seconds(registry->GetHistogram("saccade_queue_seconds",
                                           "From the engine's queue to a place among the running requests.",
                                           DurationBounds())),
      picture_seconds(registry->GetHistogram(
          "saccade_picture_seconds", "Decoding and resizing the pictures of a request.", DurationBounds())),
      vision_seconds(registry->GetHistogram(
          "saccade_vision_seconds", "Encoding the pictures of a request; 0 when all were in the cache.",
          DurationBounds())),
      registry_(std::move(registry)) {
  AddProcessMetrics(*registry_);
}

void ServerMetrics::CountRequest(const RequestRecord& record) {
  const std::string_view route = record.pattern.empty() ? std::string_view("none") : record.pattern;
  registry_
      ->GetCounter(
          "saccade_http_requests_total", "Answered HTTP requests.",
          MetricLabels(
              {{"route", route}, {"method", record.method}, {"status", fmt::format("{}", record.status)}}))
      .Add();
  registry_
      ->GetHistogram("saccade_http_request_duration_seconds",
                     "From the first byte of a request to the last of its answer.", DurationBounds(),
                     MetricLabels({{"route", route}}))
      .Observe(record.ms / 1000);
}

void ServerMetrics::CountRefused(std::string_view reason) {
  registry_
      ->GetCounter("saccade_requests_refused_total", "Chat requests that were refused or failed, by reason.",
                   MetricLabels({{"reason", reason}}))
      .Add();
}

void ServerMetrics::WatchBackend(std::function<EngineStats()> stats) {
  const auto add = [&](std::string_view name, std::string_view help, std::string_view kind,
                       int64_t EngineStats::*member) {
    registry_->AddCallback(name, help, kind,
                           [stats, member] { return static_cast<double>(stats().*member); });
  };
  add("saccade_requests_waiting", "Requests in the engine's queue.", "gauge", &EngineStats::waiting);
  add("saccade_requests_running", "Requests being answered.", "gauge", &EngineStats::running);
  add("saccade_kv_pages", "Pages of the KV cache.", "gauge", &EngineStats::kv_pages_total);
  add("saccade_kv_pages_used", "Pages of the KV cache in use.", "gauge", &EngineStats::kv_pages_used);
  add("saccade_kv_pages_cached", "Pages known to the prefix cache, in use or not.", "gauge",
      &EngineStats::kv_pages_cached);
  add("saccade_prefix_cached_tokens_total", "Prompt tokens whose keys and values were reused.", "counter",
      &EngineStats::cached_tokens);
  add("saccade_preemptions_total", "Requests that gave their pages back and were computed again.", "counter",
      &EngineStats::preemptions);
  add("saccade_requests_finished_total", "Complete answers.", "counter", &EngineStats::requests_finished);
  add("saccade_requests_failed_total", "Answers that ended with an error.", "counter",
      &EngineStats::requests_failed);
  add("saccade_requests_cancelled_total", "Answers that were stopped.", "counter",
      &EngineStats::requests_cancelled);
  add("saccade_prompt_tokens_total", "Prompt tokens, pictures included.", "counter",
      &EngineStats::prompt_tokens);
  add("saccade_image_tokens_total", "Prompt tokens that stand for pictures.", "counter",
      &EngineStats::image_tokens);
  add("saccade_pictures_encoded_total", "Pictures that went through the vision tower.", "counter",
      &EngineStats::pictures_encoded);
  add("saccade_image_cache_hits_total", "Pictures whose encoding was found in the cache.", "counter",
      &EngineStats::image_cache_hits);
  add("saccade_image_cache_bytes", "Encoded pictures in the cache.", "gauge",
      &EngineStats::image_cache_bytes);
  registry_->AddHistogramCallback("saccade_batch_width", "Sequences in one step of the text decoder.",
                                  [stats] { return BatchWidths(stats()); });
  add("saccade_completion_tokens_total", "Tokens of answers.", "counter", &EngineStats::completion_tokens);
}

void ServerMetrics::Watch(std::string_view name, std::string_view help, std::string_view kind,
                          std::function<double()> read) {
  registry_->AddCallback(name, help, kind, std::move(read));
}

void ServerMetrics::WatchConnections(std::function<double()> open) {
  registry_->AddCallback("saccade_http_connections", "Open client connections.", "gauge", std::move(open));
}

}  // namespace saccade
