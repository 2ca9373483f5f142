// The log: one line per event, a name and key=value fields, on standard error. The only writer to standard
// error in library code. Contents of requests (pictures, texts, keys) never go into a field.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

#include "base/status.h"

namespace saccade {

enum class LogLevel : uint8_t { kDebug, kInfo, kWarning, kError, kOff };
enum class LogFormat : uint8_t { kText, kJson };

// "debug", "info", "warning", "error", "off".
Result<LogLevel> ParseLogLevel(std::string_view name);

struct LogField {
  template <std::integral T>
  LogField(std::string_view name, T number) : key(name), value(static_cast<int64_t>(number)) {}
  LogField(std::string_view name, bool flag) : key(name), value(flag) {}
  LogField(std::string_view name, double number) : key(name), value(number) {}
  LogField(std::string_view name, std::string_view text) : key(name), value(text) {}
  LogField(std::string_view name, const std::string& text) : key(name), value(std::string_view(text)) {}
  LogField(std::string_view name, const char* text) : key(name), value(std::string_view(text)) {}

  std::string_view key;
  std::variant<std::string_view, int64_t, double, bool> value;
};
using LogFields = std::initializer_list<LogField>;

// Writes one line, unless the level is below the set one or the event was written more than kLogBurst times
// within this second; lines left out are counted in a field "suppressed" of the next line of that event.
// Control characters in texts are escaped, so a field can never forge a line. Thread-safe.
//   Log(LogLevel::kWarning, "checkpoint_template", {{"model", name}, {"note", note}});
void Log(LogLevel level, std::string_view event, LogFields fields = {});
// The same for fields that are only known at run time.
void Log(LogLevel level, std::string_view event, const LogField* fields, size_t count);

// Lines of one event per second. A busy server logs a line per request; more than this is a storm that only
// costs disk and time.
inline constexpr int kLogBurst = 500;

void SetLogLevel(LogLevel level);
void SetLogFormat(LogFormat format);

// Sends lines (without the newline) elsewhere, for tests. nullptr restores standard error.
void SetLogSink(std::function<void(std::string_view line)> sink);

}  // namespace saccade
