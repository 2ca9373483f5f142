#include "server/page_by_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "server/page_prompts.h"

namespace saccade {
namespace {

using Clock = std::chrono::steady_clock;

// Pages of one request that are with the engine together: enough to fill its batches, few enough to leave the
// queue to others.
constexpr size_t kPagesAtOnce = 4;
// Before a page is offered again to an engine whose queue was full.
constexpr std::chrono::milliseconds kQueueFullPause{100};

void AddUsage(RequestUsage& sum, const RequestUsage& more) {
  sum.prompt_tokens += more.prompt_tokens;
  sum.image_tokens += more.image_tokens;
  sum.cached_tokens += more.cached_tokens;
  sum.completion_tokens += more.completion_tokens;
}

void AddTimings(RequestTimings& sum, const RequestTimings& more) {
  for (double RequestTimings::*member :
       {&RequestTimings::decode_image, &RequestTimings::resize, &RequestTimings::vision,
        &RequestTimings::prefill, &RequestTimings::decode}) {
    sum.*member += more.*member;
  }
}

// One answer in the making. Its own thread prepares pages and waits; events of the pages come on the
// backend's. Kept alive by that thread, which ends soon after Cancel or the last event.
class PageRun : public std::enable_shared_from_this<PageRun> {
 public:
  PageRun(const std::shared_ptr<ChatBackend>& backend, std::shared_ptr<const ChatInput> input, EventSink sink,
          int choice)
      : backend_(backend), input_(std::move(input)), sink_(std::move(sink)), choice_(choice) {
    for (const size_t picture : PageIndices(*input_)) {
      pictures_.push_back(picture);
      answers_.push_back(
          {input_->pictures[picture].document, input_->pictures[picture].page, "", 0, false, false});
    }
    logprobs_.resize(pictures_.size());
  }

  // `first` is the prepared first page.
  Status Start(std::shared_ptr<PreparedChat> first) {
    started_ = Clock::now();
    SACCADE_RETURN_IF_ERROR(Submit(0, std::move(first)));
    std::thread([self = shared_from_this()] { self->Run(); }).detach();
    return OkStatus();
  }

  void Cancel() {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    for (const auto& prepared : active_) {
      if (prepared) prepared->Cancel();
    }
    changed_.notify_all();
  }

 private:
  // Queues page `page`; its events come to OnPageEvent.
  Status Submit(size_t page, std::shared_ptr<PreparedChat> prepared) {
    {
      const std::lock_guard lock(mutex_);
      active_.resize(std::max(active_.size(), page + 1));
      active_[page] = prepared;
      ++running_;
    }
    const Status status = prepared->Submit(
        [self = shared_from_this(), page](Event event) { self->OnPageEvent(page, std::move(event)); },
        choice_);
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      if (cancelled_) prepared->Cancel();  // a Cancel before Submit did nothing
      return status;
    }
    active_[page].reset();
    --running_;
    return status;
  }

  void OnPageEvent(size_t page, const Event& event) {
    const std::lock_guard lock(mutex_);
    if (const auto* text = std::get_if<TextEvent>(&event)) {
      answers_[page].text += text->text;
      for (const TokenLogprob& token : text->logprobs) logprobs_[page].push_back(token.logprob);
      return;
    }
    if (std::holds_alternative<ProgressEvent>(event)) return;
    if (const auto* finished = std::get_if<FinishedEvent>(&event)) {
      AddUsage(sum_.usage, finished->usage);
      AddTimings(sum_.timings, finished->timings);
      if (finished->reason == FinishReason::kCancelled) cancelled_ = true;
    } else if (failed_.ok()) {
      failed_ = std::get<FailedEvent>(event).status;
    }
    --running_;
    ++done_;
    changed_.notify_all();
  }

  void Run() {
    const Status status = AskPages();
    if (!status.ok()) {
      StopPages();
      return Fail(status);
    }
    Judge();
    const std::string direct = DirectAnswer(*input_, answers_);
    if (!direct.empty()) return FinishDirectly(direct);
    const Status combined = Combine();
    if (!combined.ok()) Fail(combined);
  }

  // Returns when every page has answered.
  Status AskPages() {
    size_t next = 1;
    size_t reported = 0;
    while (true) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        return cancelled_ || !failed_.ok() || done_ > reported ||
               (next < pictures_.size() && running_ < kPagesAtOnce);
      });
      if (cancelled_) return Cancelled("the request was cancelled");
      if (!failed_.ok()) return failed_;
      const bool room = next < pictures_.size() && running_ < kPagesAtOnce;
      if (done_ > reported) {
        reported = done_;
        lock.unlock();
        sink_(ProgressEvent{ProgressEvent::Stage::kPages, static_cast<int64_t>(reported),
                            static_cast<int64_t>(pictures_.size())});
        if (reported == pictures_.size()) return OkStatus();
        continue;
      }
      lock.unlock();
      if (!room) continue;
      SACCADE_RETURN_IF_ERROR(SubmitNext(next));
      ++next;
    }
  }

  Status SubmitNext(size_t page) {
    const auto backend = backend_.lock();
    if (!backend) return Unavailable("the engine has stopped");
    Result<std::shared_ptr<PreparedChat>> made = backend->Prepare(PageInput(*input_, pictures_[page]));
    if (!made.ok()) {
      const Status& status = made.status();
      return Status(status.code(), fmt::format("page {}: {}", answers_[page].page, status.message()));
    }
    const std::shared_ptr<PreparedChat> prepared = *std::move(made);
    while (true) {
      Status status = Submit(page, prepared);
      if (status.code() != StatusCode::kResourceExhausted) return status;
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, kQueueFullPause, [this] { return cancelled_; })) return OkStatus();
    }
  }

  // After a failure: nobody waits for the other pages. Their last events still come to this object.
  void StopPages() {
    const std::lock_guard lock(mutex_);
    for (const auto& prepared : active_) {
      if (prepared) prepared->Cancel();
    }
  }

  // Which pages count.
  void Judge() {
    const std::lock_guard lock(mutex_);
    active_.clear();
    for (size_t page = 0; page < answers_.size(); ++page) {
      double sum = 0;
      for (const float logprob : logprobs_[page]) sum += logprob;
      const auto tokens = static_cast<double>(logprobs_[page].size());
      answers_[page].confidence = tokens > 0 ? std::exp(sum / tokens) : 0;
      answers_[page].counts =
          IsAnswer(answers_[page].text) && answers_[page].confidence >= input_->page_by_page->min_confidence;
    }
  }

  void FinishDirectly(const std::string& text) {
    MarkCitations(text, answers_);
    SendText(text);
    sum_.reason = FinishReason::kStop;
    sum_.pages = std::move(answers_);
    sink_(std::move(sum_));
  }

  Status Combine() {
    const auto backend = backend_.lock();
    if (!backend) return Unavailable("the engine has stopped");
    Result<std::shared_ptr<PreparedChat>> prepared = backend->Prepare(CombineInput(*input_, answers_));
    if (!prepared.ok()) {
      return std::move(prepared).status().WithContext(
          "the answers of the pages could not be combined; ask for \"combine\": \"list\" or for fewer pages");
    }
    {
      const std::lock_guard lock(mutex_);
      if (cancelled_) return Cancelled("the request was cancelled");
      active_ = {*prepared};
    }
    while (true) {
      Status status = (*prepared)->Submit(
          [self = shared_from_this()](Event event) { self->OnCombined(std::move(event)); }, choice_);
      std::unique_lock lock(mutex_);
      if (status.ok() && cancelled_) (*prepared)->Cancel();
      if (status.code() != StatusCode::kResourceExhausted) return status;
      if (changed_.wait_for(lock, kQueueFullPause, [this] { return cancelled_; })) {
        return Cancelled("the request was cancelled");
      }
    }
  }

  void OnCombined(Event event) {
    if (auto* text = std::get_if<TextEvent>(&event)) {
      combined_ += text->text;
      NoteFirstText();
      sink_(std::move(event));
      return;
    }
    if (std::holds_alternative<ProgressEvent>(event)) return sink_(std::move(event));
    {
      const std::lock_guard lock(mutex_);
      active_.clear();
    }
    auto* finished = std::get_if<FinishedEvent>(&event);
    if (finished == nullptr) return sink_(std::move(event));
    const std::string appended = MarkCitations(combined_, answers_);
    if (!appended.empty()) SendText(appended);
    AddUsage(sum_.usage, finished->usage);
    AddTimings(sum_.timings, finished->timings);
    sum_.reason = finished->reason;
    sum_.pages = std::move(answers_);
    sink_(std::move(sum_));
  }

  void SendText(const std::string& text) {
    NoteFirstText();
    TextEvent event;
    event.text = text;
    sink_(std::move(event));
  }

  void NoteFirstText() {
    if (sum_.timings.first_token > 0) return;
    sum_.timings.first_token = MillisecondsSince(started_);
  }

  void Fail(const Status& status) {
    if (status.code() != StatusCode::kCancelled) return sink_(FailedEvent{status});
    sum_.reason = FinishReason::kCancelled;
    sink_(std::move(sum_));
  }

  const std::weak_ptr<ChatBackend> backend_;  // weak: the backend owns the sinks that own this
  const std::shared_ptr<const ChatInput> input_;
  const EventSink sink_;
  const int choice_;
  Clock::time_point started_;
  std::vector<size_t> pictures_;  // of the pages, in the input

  std::mutex mutex_;
  std::condition_variable changed_;
  bool cancelled_ = false;
  Status failed_;
  size_t running_ = 0, done_ = 0;  // pages
  std::vector<std::shared_ptr<PreparedChat>> active_;
  std::vector<std::vector<float>> logprobs_;
  std::vector<PageAnswer> answers_;
  FinishedEvent sum_;
  std::string combined_;
};

class PageByPageChat final : public PreparedChat {
 public:
  PageByPageChat(const std::shared_ptr<ChatBackend>& backend, const ChatInput& input,
                 std::shared_ptr<PreparedChat> first, size_t pages)
      : backend_(backend),
        input_(std::make_shared<const ChatInput>(input)),
        first_(std::move(first)),
        pages_(pages) {}

  // Taken for all pages from the first: they are alike.
  RequestUsage Cost() const override {
    RequestUsage cost = first_->Cost();
    cost.prompt_tokens *= static_cast<int64_t>(pages_);
    cost.image_tokens *= static_cast<int64_t>(pages_);
    return cost;
  }

  Status Submit(EventSink sink, int choice) override {
    const auto backend = backend_.lock();
    if (!backend) return Unavailable("the engine has stopped");
    auto run = std::make_shared<PageRun>(backend, input_, std::move(sink), choice);
    SACCADE_RETURN_IF_ERROR(run->Start(first_));
    const std::lock_guard lock(mutex_);
    runs_.push_back(run);
    return OkStatus();
  }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    for (const auto& weak : runs_) {
      if (const auto run = weak.lock()) run->Cancel();
    }
  }

 private:
  const std::weak_ptr<ChatBackend> backend_;
  const std::shared_ptr<const ChatInput> input_;
  const std::shared_ptr<PreparedChat> first_;
  const size_t pages_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<PageRun>> runs_;  // weak: a run holds the sink, and the sink what holds this
};

}  // namespace

Result<std::shared_ptr<PreparedChat>> PrepareChat(const std::shared_ptr<ChatBackend>& backend,
                                                  const ChatInput& input) {
  const std::vector<size_t> pages = PageIndices(input);
  if (!input.page_by_page || pages.empty()) return backend->Prepare(input);
  SACCADE_ASSIGN_OR_RETURN(std::shared_ptr<PreparedChat> first,
                           backend->Prepare(PageInput(input, pages.front())));
  return std::shared_ptr<PreparedChat>(
      std::make_shared<PageByPageChat>(backend, input, std::move(first), pages.size()));
}

Result<RequestEstimate> EstimateChat(const ChatBackend& backend, const ChatInput& input) {
  const std::vector<size_t> pages = PageIndices(input);
  if (!input.page_by_page || pages.empty()) return backend.Estimate(input);
  RequestEstimate sum;
  for (const size_t page : pages) {
    SACCADE_ASSIGN_OR_RETURN(const RequestEstimate one, backend.Estimate(PageInput(input, page)));
    sum.pictures.insert(sum.pictures.end(), one.pictures.begin(), one.pictures.end());
    sum.prompt_tokens += one.prompt_tokens;
    sum.image_tokens += one.image_tokens;
    sum.picture_bytes += one.picture_bytes;
    // These are of the prompts that are there at one time.
    sum.max_tokens = std::max(sum.max_tokens, one.max_tokens);
    sum.context_tokens = one.context_tokens;
    sum.kv_bytes = std::max(sum.kv_bytes, one.kv_bytes);
  }
  return sum;
}

}  // namespace saccade
