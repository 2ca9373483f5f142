#include "image/vips_session.h"

#include <vips/vips.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <memory>
#include <mutex>

#include "image/decode.h"

namespace saccade {
namespace {

std::atomic<int> active_scopes{0};
std::atomic<uint64_t> scopes_started{0};

// The last warning of a decoder about the current picture. The PNG loader reports details only as log
// messages; they arrive on the thread that decodes.
thread_local std::string last_warning;

void SwallowLog(const gchar*, GLogLevelFlags level, const gchar* message, gpointer) {
  constexpr int kBad = G_LOG_LEVEL_ERROR | G_LOG_LEVEL_CRITICAL | G_LOG_LEVEL_WARNING;
  if ((level & kBad) == 0 || message == nullptr) return;
  // The row cache repeats every failure without saying why.
  const std::string_view text = message;
  if (!text.starts_with("error in tile")) last_warning = text;
}

void SilenceLogs() {
  constexpr auto kEverything =
      static_cast<GLogLevelFlags>(G_LOG_LEVEL_MASK | G_LOG_FLAG_FATAL | G_LOG_FLAG_RECURSION);
  for (const char* domain : {"VIPS", "GLib", "GLib-GObject", "GLib-GIO", "GModule"}) {
    g_log_set_handler(domain, kEverything, SwallowLog, nullptr);
  }
}

Status StartVips() {
  SilenceLogs();
  if (VIPS_INIT("saccade") != 0) {
    return Unavailable("libvips could not be started: {}", vips_error_buffer());
  }
  vips_block_untrusted_set(TRUE);
  vips_cache_set_max(0);
  // Pictures are decoded by the pools of the caller, one thread each.
  vips_concurrency_set(1);
  return OkStatus();
}

// Lines "domain: text" become one phrase "text; text" of at most this many bytes.
constexpr size_t kMaxDetailBytes = 160;

std::string OnePhrase(std::string_view lines) {
  std::string phrase;
  while (!lines.empty() && phrase.size() < kMaxDetailBytes) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (const size_t colon = line.find(": "); colon != std::string_view::npos) line.remove_prefix(colon + 2);
    if (line.empty() || phrase.find(line) != std::string::npos) continue;
    if (!phrase.empty()) phrase += "; ";
    phrase += line;
  }
  phrase.resize(std::min(phrase.size(), kMaxDetailBytes));
  std::replace_if(
      phrase.begin(), phrase.end(), [](unsigned char c) { return c < 0x20 || c > 0x7e; }, '?');
  const bool acronym = phrase.size() > 1 && std::isupper(static_cast<unsigned char>(phrase[1]));
  if (!phrase.empty() && !acronym)
    phrase[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(phrase[0])));
  return phrase;
}

}  // namespace

Status InitImageLibrary() {
  static std::once_flag once;
  static Status started;
  std::call_once(once, [] { started = StartVips(); });
  return started;
}

VipsErrorScope::VipsErrorScope(ImageKind kind) : kind_(kind) {
  started_alone_ = active_scopes.fetch_add(1) == 0;
  generation_ = scopes_started.fetch_add(1) + 1;
  if (started_alone_) vips_error_clear();
  last_warning.clear();
}

VipsErrorScope::~VipsErrorScope() {
  if (Alone()) vips_error_clear();
  active_scopes.fetch_sub(1);
}

bool VipsErrorScope::Alone() const { return started_alone_ && scopes_started.load() == generation_; }

std::string VipsErrorScope::Detail() const {
  if (kind_ == ImageKind::kPng && !last_warning.empty()) return OnePhrase(last_warning);
  const std::unique_ptr<char, decltype(&g_free)> text(vips_error_buffer_copy(), &g_free);
  return Alone() ? OnePhrase(text.get()) : std::string();
}

Status VipsErrorScope::Damaged() const {
  const std::string detail = Detail();
  if (detail.empty()) return InvalidArgument("the {} picture is damaged or cut short", ImageKindName(kind_));
  return InvalidArgument("the {} picture is damaged or cut short ({})", ImageKindName(kind_), detail);
}

}  // namespace saccade
