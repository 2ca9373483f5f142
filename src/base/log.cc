#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>

namespace saccade {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error", "off"};
// Names of events are few and fixed; the bound only guards against a caller that makes them up.
constexpr size_t kMaxTrackedEvents = 256;

std::atomic<LogLevel> g_level{LogLevel::kInfo};
std::atomic<LogFormat> g_format{LogFormat::kText};

struct EventRate {
  int64_t second = 0;
  int written = 0;
  int64_t suppressed = 0;
};

// Everything that lines of different threads share.
struct LogState {
  std::mutex mutex;
  std::map<std::string, EventRate, std::less<>> rates;
  std::function<void(std::string_view)> sink;
  std::shared_ptr<spdlog::logger> logger = MakeLogger();

  static std::shared_ptr<spdlog::logger> MakeLogger() {
    auto logger =
        std::make_shared<spdlog::logger>("saccade", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    logger->set_pattern("%v");
    logger->set_level(spdlog::level::trace);
    logger->flush_on(spdlog::level::trace);
    return logger;
  }
};

// Never destroyed: threads may log while the process ends.
LogState& State() {
  static LogState& state = *new LogState;
  return state;
}

std::string Timestamp(std::chrono::system_clock::time_point now) {
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  const std::time_t seconds = millis / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", utc.tm_year + 1900, utc.tm_mon + 1,
                     utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, millis % 1000);
}

void AppendQuoted(std::string& line, std::string_view text) {
  line += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      line += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      line += c;
    }
  }
  line += '"';
}

bool NeedsQuotes(std::string_view text) {
  if (text.empty()) return true;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f || c == '"' || c == '=' || c == '\\') return true;
  }
  return false;
}

void AppendValue(std::string& line, const LogField& field, bool json) {
  if (const auto* text = std::get_if<std::string_view>(&field.value)) {
    if (json || NeedsQuotes(*text)) {
      AppendQuoted(line, *text);
    } else {
      line += *text;
    }
  } else if (const auto* number = std::get_if<int64_t>(&field.value)) {
    line += fmt::format("{}", *number);
  } else if (const auto* real = std::get_if<double>(&field.value)) {
    line += fmt::format("{:.3f}", *real);
  } else {
    line += std::get<bool>(field.value) ? "true" : "false";
  }
}

void AppendField(std::string& line, const LogField& field, bool json) {
  if (json) {
    line += ',';
    AppendQuoted(line, field.key);
    line += ':';
  } else {
    line += ' ';
    line += field.key;
    line += '=';
  }
  AppendValue(line, field, json);
}

std::string Format(LogLevel level, std::string_view event, const LogField* fields, size_t count,
                   int64_t suppressed) {
  const bool json = g_format.load(std::memory_order_relaxed) == LogFormat::kJson;
  const std::string_view level_name = kLevelNames[static_cast<size_t>(level)];
  const std::string time = Timestamp(std::chrono::system_clock::now());
  std::string line = json ? fmt::format(R"({{"time":"{}","level":"{}","event":"{}")", time, level_name, event)
                          : fmt::format("{} {} {}", time, level_name, event);
  for (size_t i = 0; i < count; ++i) AppendField(line, fields[i], json);
  if (suppressed > 0) AppendField(line, LogField("suppressed", suppressed), json);
  if (json) line += '}';
  return line;
}

// True when the event may write a line now; then `suppressed` is what was left out since the last one.
bool Admit(LogState& state, std::string_view event, int64_t& suppressed) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const int64_t second = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  auto found = state.rates.find(event);
  if (found == state.rates.end()) {
    if (state.rates.size() >= kMaxTrackedEvents) return true;
    found = state.rates.emplace(event, EventRate{}).first;
  }
  EventRate& rate = found->second;
  if (rate.second != second) rate = {second, 0, rate.suppressed};
  if (rate.written >= kLogBurst) {
    ++rate.suppressed;
    return false;
  }
  ++rate.written;
  suppressed = std::exchange(rate.suppressed, 0);
  return true;
}

}  // namespace

Result<LogLevel> ParseLogLevel(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  return InvalidArgument("log level is \"{}\"; accepted are debug, info, warning, error and off", name);
}

void Log(LogLevel level, std::string_view event, LogFields fields) {
  Log(level, event, fields.begin(), fields.size());
}

void Log(LogLevel level, std::string_view event, const LogField* fields, size_t count) {
  if (level < g_level.load(std::memory_order_relaxed) || level == LogLevel::kOff) return;
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  int64_t suppressed = 0;
  if (!Admit(state, event, suppressed)) return;
  const std::string line = Format(level, event, fields, count, suppressed);
  if (state.sink) {
    state.sink(line);
  } else {
    state.logger->info(spdlog::string_view_t(line));
  }
}

void SetLogLevel(LogLevel level) { g_level.store(level, std::memory_order_relaxed); }
void SetLogFormat(LogFormat format) { g_format.store(format, std::memory_order_relaxed); }

void SetLogSink(std::function<void(std::string_view line)> sink) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.sink = std::move(sink);
}

}  // namespace saccade
