// One answer on its way to the terminal, for saccade ask.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>

#include "engine/request.h"

namespace saccade {

// Collects the events of one request. Written by threads of the backend, read by main.
class AskAnswer {
 public:
  // `stream`: text goes to standard output as it comes. `show_progress`: what is going on goes to standard
  // error.
  AskAnswer(bool stream, bool show_progress) : stream_(stream), show_progress_(show_progress) {}

  void OnEvent(Event event);

  // Waits for the end; on Ctrl-C calls `cancel` once and goes on waiting.
  template <class Cancel>
  void Wait(Cancel&& cancel) {
    bool cancelled = false;
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_; })) {
      if (!cancelled && Interrupted()) {
        cancelled = true;
        lock.unlock();  // the last event may come on this thread
        cancel();
        lock.lock();
      }
    }
  }

  // After Wait.
  const std::string& text() const { return text_; }
  const FinishedEvent& finished() const { return finished_; }
  const Status& status() const { return status_; }

 private:
  static bool Interrupted();
  void ShowProgress(const ProgressEvent& progress);
  void ClearProgress();
  void AddText(const std::string& text);

  const bool stream_, show_progress_;
  bool progress_shown_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::string text_;
  FinishedEvent finished_;
  Status status_;
};

// {"text", "finish_reason", "usage", "timings_ms"} and, of a document, "citations" and "page_answers".
OrderedJson AnswerJson(const AskAnswer& answer, double load_ms);

}  // namespace saccade
