#include "cli/ask_answer.h"

#include <cmath>
#include <cstdio>

#include "cli/interrupt.h"
#include "server/server.h"

namespace saccade {

bool AskAnswer::Interrupted() { return InterruptCount() > 0; }

void AskAnswer::OnEvent(Event event) {
  const std::lock_guard lock(mutex_);
  if (const auto* progress = std::get_if<ProgressEvent>(&event)) ShowProgress(*progress);
  if (const auto* text = std::get_if<TextEvent>(&event)) AddText(text->text);
  if (auto* finished = std::get_if<FinishedEvent>(&event)) finished_ = std::move(*finished);
  if (auto* failed = std::get_if<FailedEvent>(&event)) status_ = failed->status;
  if (std::holds_alternative<FinishedEvent>(event) || std::holds_alternative<FailedEvent>(event)) {
    ClearProgress();
    done_ = true;
    changed_.notify_all();
  }
}

void AskAnswer::ShowProgress(const ProgressEvent& progress) {
  if (!show_progress_ || progress.stage == ProgressEvent::Stage::kQueued) return;
  const char* what = progress.stage == ProgressEvent::Stage::kVision  ? "reading the picture"
                     : progress.stage == ProgressEvent::Stage::kPages ? "pages"
                                                                      : "reading the prompt";
  fmt::print(stderr, "\r\033[K{} {}/{}", what, progress.done, progress.total);
  std::fflush(stderr);
  progress_shown_ = true;
}

void AskAnswer::ClearProgress() {
  if (progress_shown_) fmt::print(stderr, "\r\033[K");
  progress_shown_ = false;
}

void AskAnswer::AddText(const std::string& text) {
  ClearProgress();
  text_ += text;
  if (!stream_ || text.empty()) return;
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

OrderedJson AnswerJson(const AskAnswer& answer, double load_ms) {
  const RequestUsage& usage = answer.finished().usage;
  const RequestTimings& timings = answer.finished().timings;
  OrderedJson json;
  json["text"] = answer.text();
  json["finish_reason"] = FinishReasonName(answer.finished().reason);
  json["usage"] = {{"prompt_tokens", usage.prompt_tokens},
                   {"image_tokens", usage.image_tokens},
                   {"completion_tokens", usage.completion_tokens}};
  const auto round = [](double ms) { return std::round(ms * 100) / 100; };
  json["timings_ms"] = {{"load", round(load_ms)},
                        {"decode_image", round(timings.decode_image)},
                        {"resize", round(timings.resize)},
                        {"vision", round(timings.vision)},
                        {"prefill", round(timings.prefill)},
                        {"decode", round(timings.decode)}};
  if (!answer.finished().pages.empty()) AddPageAnswers(answer.finished().pages, json);
  return json;
}

}  // namespace saccade
