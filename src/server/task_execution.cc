#include "server/task_execution.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "server/backend_slot.h"
#include "server/http.h"
#include "server/page_by_page.h"

namespace saccade {

TaskExecution::TaskExecution(const std::shared_ptr<ChatBackend>& backend, ChatRequest request)
    : backend_(backend),
      model_(backend->model().id),
      logprobs_(request.logprobs),
      choices_(static_cast<size_t>(request.choices)) {}

Result<std::shared_ptr<TaskExecution>> TaskExecution::Prepare(const std::shared_ptr<ChatBackend>& backend,
                                                              std::string_view body, const TaskOrigin& origin,
                                                              size_t max_pictures) {
  PicturePartOptions parts;
  parts.max_pictures = max_pictures;
  parts.defaults = backend->model().pixel_limits;
  SACCADE_ASSIGN_OR_RETURN(ChatRequest request, ParseChatRequest(body, parts));
  SACCADE_RETURN_IF_ERROR(CheckModel(request.model, backend->model()));
  request.input.priority = Priority::kBatch;
  request.input.user = origin.user;
  request.input.cache_scope = origin.cache_scope;
  const ChatInput input = std::move(request.input);
  const std::vector<std::string> paths = std::move(request.picture_paths);
  std::shared_ptr<TaskExecution> execution(new TaskExecution(backend, std::move(request)));
  auto prepared = PrepareChat(backend, input);
  if (!prepared.ok()) return WithRequestPath(std::move(prepared).status(), paths);
  execution->prepared_ = std::move(*prepared);
  return execution;
}

Status TaskExecution::Submit(std::function<void()> on_end) {
  {
    const std::lock_guard lock(mutex_);
    on_end_ = std::move(on_end);
    open_ = choices_.size();
    failed_ = OkStatus();
  }
  const auto self = shared_from_this();
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Status status =
        prepared_->Submit([self, i](const Event& event) { self->OnEvent(i, event); }, static_cast<int>(i));
    if (status.ok()) continue;
    if (i == 0) return status;
    // The choices that are queued already end the attempt; those that are not have ended.
    prepared_->Cancel();
    bool ended = false;
    {
      const std::lock_guard lock(mutex_);
      failed_ = status;
      open_ -= choices_.size() - i;
      ended = open_ == 0;
    }
    if (ended) on_end_();
    return OkStatus();
  }
  return OkStatus();
}

void TaskExecution::Cancel() { prepared_->Cancel(); }

void TaskExecution::OnEvent(size_t index, const Event& event) {
  bool ended = false;
  {
    const std::lock_guard lock(mutex_);
    Choice& choice = choices_[index];
    if (const auto* progress = std::get_if<ProgressEvent>(&event)) {
      if (stage_ == "answering") return;
      const OrderedJson json = ProgressJson(*progress);
      stage_ = json["stage"].get<std::string>();
      done_ = progress->done;
      total_ = progress->total;
    } else if (const auto* piece = std::get_if<TextEvent>(&event)) {
      stage_ = "answering";
      choice.text += piece->text;
      choice.logprobs.insert(choice.logprobs.end(), piece->logprobs.begin(), piece->logprobs.end());
      done_ += static_cast<int64_t>(piece->tokens.size());
      total_ = 0;
    } else if (const auto* finished = std::get_if<FinishedEvent>(&event)) {
      choice.finished = *finished;
      if (finished->reason == FinishReason::kCancelled) failed_ = Cancelled("the attempt was stopped");
      ended = --open_ == 0;
    } else {
      failed_ = std::get<FailedEvent>(event).status;
      ended = --open_ == 0;
    }
  }
  if (ended) on_end_();
}

void TaskExecution::FillLive(TaskLive& live) const {
  const std::lock_guard lock(mutex_);
  live.stage = stage_;
  live.done = done_;
  live.total = total_;
  live.text = choices_.front().text;
}

OrderedJson TaskExecution::Logprobs(const Choice& choice) const {
  if (!logprobs_) return nullptr;
  const auto backend = backend_.lock();
  const TokenBytesFunction bytes = [&](int32_t token) {
    return backend ? backend->TokenBytes(token) : std::string();
  };
  int64_t offset = 0;
  return ChatFormat().Logprobs({choice.logprobs, bytes, offset});
}

Result<std::string> TaskExecution::Outcome() const {
  const std::lock_guard lock(mutex_);
  SACCADE_RETURN_IF_ERROR(failed_);
  OrderedJson entries = OrderedJson::array();
  RequestUsage usage = choices_.front().finished->usage;
  usage.completion_tokens = 0;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    usage.completion_tokens += choice.finished->usage.completion_tokens;
    entries.push_back(ChatFormat().WholeChoice(static_cast<int>(i), choice.text, Logprobs(choice),
                                               choice.finished->reason));
    if (!choice.finished->pages.empty()) AddPageAnswers(choice.finished->pages, entries.back()["message"]);
  }
  using namespace std::chrono;
  ReplyHead head;
  head.id = std::string(ChatFormat().id_prefix()) + RequestIdFrom("");
  head.created = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  head.model = model_;
  return WholeJson(ChatFormat(), head, std::move(entries), usage, choices_.front().finished->timings);
}

}  // namespace saccade
