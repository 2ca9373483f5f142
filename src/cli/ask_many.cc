#include "cli/ask_many.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "cli/interrupt.h"

namespace saccade {
namespace {

constexpr size_t kBarWidth = 30;

// Of a terminal; nothing when standard error is none.
class ProgressBar {
 public:
  explicit ProgressBar(size_t total) : total_(total), shown_(isatty(STDERR_FILENO) != 0) {}
  ~ProgressBar() {
    if (shown_) fmt::print(stderr, "\r\033[K");
  }

  void Show(size_t done, const std::string& name) const {
    if (!shown_) return;
    const size_t full = kBarWidth * done / total_;
    fmt::print(stderr, "\r\033[K[{}{}] {}/{} {}", std::string(full, '#'), std::string(kBarWidth - full, '.'),
               done, total_, name.substr(name.size() > 40 ? name.size() - 40 : 0));
    std::fflush(stderr);
  }

 private:
  const size_t total_;
  const bool shown_;
};

std::string CsvOf(const std::string& file, const Result<OrderedJson>& answer) {
  if (!answer.ok()) return CsvLine({file, "", answer.status().message(), "", ""});
  std::string pages;
  if (const auto citations = answer->find("citations"); citations != answer->end()) {
    for (const OrderedJson& citation : *citations) {
      pages += fmt::format("{}{}", pages.empty() ? "" : " ", citation.value("page", 0));
    }
  }
  return CsvLine({file, answer->value("text", ""), "", answer->value("finish_reason", ""), pages});
}

std::string JsonOf(const std::string& file, const Result<OrderedJson>& answer) {
  OrderedJson line = {{"file", file}};
  if (answer.ok()) {
    line.update(*answer);
  } else {
    line["error"] = answer.status().message();
  }
  return line.dump(-1, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    if (&field != &fields.front()) line += ',';
    const bool formula =
        !field.empty() && std::string_view("=+-@\t\r").find(field[0]) != std::string_view::npos;
    const std::string text = formula ? fmt::format("'{}", field) : field;
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
      line += text;
      continue;
    }
    line += '"';
    for (const char c : text) line += c == '"' ? std::string("\"\"") : std::string(1, c);
    line += '"';
  }
  return line + "\r\n";
}

Status AskMany(const std::vector<std::string>& files, const std::string& out, const AskOne& ask) {
  const bool csv = out.size() > 4 && out.compare(out.size() - 4, 4, ".csv") == 0;
  std::unique_ptr<FILE, int (*)(FILE*)> opened(out.empty() ? nullptr : std::fopen(out.c_str(), "w"),
                                               std::fclose);
  if (!out.empty() && !opened) return InvalidArgument("{}: cannot be written", out);
  FILE* target = opened ? opened.get() : stdout;
  if (csv) std::fputs(CsvLine({"file", "text", "error", "finish_reason", "pages"}).c_str(), target);
  size_t failed = 0, done = 0;
  {
    const ProgressBar bar(files.size());
    for (const std::string& file : files) {
      bar.Show(done++, file);
      const Result<OrderedJson> answer = ask(file);
      if (InterruptCount() > 0) return Cancelled("interrupted after {} of {} files", done - 1, files.size());
      failed += !answer.ok();
      std::fputs((csv ? CsvOf(file, answer) : JsonOf(file, answer)).c_str(), target);
      if (std::fflush(target) != 0) return InvalidArgument("the results cannot be written");
    }
  }
  if (failed > 0) return InvalidArgument("{} of {} files could not be answered about", failed, files.size());
  return OkStatus();
}

}  // namespace saccade
