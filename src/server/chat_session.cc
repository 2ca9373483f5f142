#include "server/chat_session.h"

#include <fmt/format.h>

#include "base/utf8.h"
#include "server/error_reply.h"
#include "server/sse.h"

namespace saccade {
namespace {

std::string ProgressText(const ProgressEvent& progress) {
  switch (progress.stage) {
    case ProgressEvent::Stage::kQueued:
      return fmt::format("queued {}", progress.done);
    case ProgressEvent::Stage::kVision:
      return fmt::format("encoding {}/{}", progress.done, progress.total);
    case ProgressEvent::Stage::kPrefill:
      return fmt::format("prefill {}/{}", progress.done, progress.total);
  }
  return "";
}

HttpResponse JsonReply(std::string body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

ChatSession::ChatSession(std::shared_ptr<Exchange> exchange, ChatRequest request,
                         const std::shared_ptr<ChatBackend>& backend, ServerMetrics& metrics,
                         const ChatSessionOptions& options)
    : exchange_(std::move(exchange)),
      backend_(backend),
      metrics_(metrics),
      options_(options),
      request_(std::move(request)) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  head_.id = "chatcmpl-" + RequestIdFrom("");
  head_.created = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  head_.model = backend->model().id;
  if (request_.logprobs && !request_.stream) logprobs_ = OrderedJson::array();
}

void ChatSession::Start(std::shared_ptr<Exchange> exchange, ChatRequest request,
                        const std::shared_ptr<ChatBackend>& backend, ServerMetrics& metrics,
                        const ChatSessionOptions& options) {
  auto session = std::make_shared<ChatSession>(exchange, std::move(request), backend, metrics, options);
  if (Status status = session->Submit(*backend); !status.ok()) {
    status = WithRequestPath(std::move(status), session->request_.picture_paths);
    metrics.CountRefused(StatusCodeName(status.code()));
    exchange->Send(ErrorReply(status));
    return;
  }
  // Weak, because the session owns the exchange that holds this.
  exchange->OnGone([weak = std::weak_ptr(session)](GoneReason reason) {
    if (const auto self = weak.lock()) self->Stop(reason);
  });
}

Status ChatSession::Submit(ChatBackend& backend) {
  if (exchange_->gone()) return Cancelled("the client went away");
  SACCADE_ASSIGN_OR_RETURN(prepared_, backend.Prepare(request_.input));
  request_.input = {};  // the pictures live on in what was prepared
  if (exchange_->gone()) return Cancelled("the client went away");
  const auto self = shared_from_this();
  SACCADE_RETURN_IF_ERROR(prepared_->Submit([self](Event event) {
    self->exchange_->Post([self, event = std::move(event)] { self->OnEvent(event); });
  }));
  if (request_.stream) exchange_->Post([self] { self->BeginStream(); });
  return OkStatus();
}

void ChatSession::Stop(GoneReason reason) {
  if (reason == GoneReason::kServerStopping) server_stopping_ = true;
  prepared_->Cancel();
}

void ChatSession::OnEvent(const Event& event) {
  if (ended_) return;
  if (const auto* progress = std::get_if<ProgressEvent>(&event)) {
    OnProgress(*progress);
  } else if (const auto* piece = std::get_if<TextEvent>(&event)) {
    OnText(*piece);
  } else if (const auto* finished = std::get_if<FinishedEvent>(&event)) {
    OnFinished(*finished);
  } else {
    OnFailed(std::get<FailedEvent>(event).status);
  }
}

void ChatSession::BeginStream() {
  if (stream_begun_ || ended_) return;
  stream_begun_ = true;
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers.emplace_back("cache-control", "no-cache");
  head.headers.emplace_back("x-accel-buffering", "no");  // nginx then passes every event on at once
  exchange_->StartStream(std::move(head), {kSsePing, options_.heartbeat});
}

void ChatSession::OnProgress(const ProgressEvent& progress) {
  if (!request_.stream) return;
  BeginStream();
  std::string text = ProgressText(progress);
  if (text == last_progress_) return;
  exchange_->Write(SseComment(text));
  last_progress_ = std::move(text);
}

void ChatSession::OnText(const TextEvent& piece) {
  // The backend sends whole characters; should it ever not, none is torn here either.
  partial_ += piece.text;
  std::string text;
  DrainUtf8(partial_, text);
  OrderedJson logprobs;
  if (request_.logprobs) {
    const auto backend = backend_.lock();
    logprobs = LogprobEntries(
        piece.logprobs, [&](int32_t token) { return backend ? backend->TokenBytes(token) : std::string(); });
  }
  if (text.empty() && logprobs.empty()) return;
  CountText();
  if (request_.stream) {
    WriteText(text, std::move(logprobs));
    return;
  }
  text_ += text;
  for (OrderedJson& entry : logprobs) logprobs_.push_back(std::move(entry));
}

void ChatSession::WriteText(const std::string& text, OrderedJson logprobs) {
  BeginStream();
  exchange_->Write(SseData(TextChunkJson(head_, text, !role_sent_, std::move(logprobs))));
  role_sent_ = true;
}

void ChatSession::OnFinished(const FinishedEvent& finished) {
  CountFinished(finished);
  if (finished.reason == FinishReason::kCancelled) {
    OnFailed(server_stopping_ ? Unavailable("the server is stopping")
                              : Cancelled("the request was cancelled"));
    return;
  }
  const std::string rest = partial_.empty() ? "" : ReplaceInvalidUtf8(partial_);
  if (!request_.stream) {
    ended_ = true;
    exchange_->Send(JsonReply(CompletionJson(head_, text_ + rest, std::move(logprobs_), finished)));
    return;
  }
  BeginStream();
  if (!rest.empty()) WriteText(rest, nullptr);
  std::string last = SseData(FinishChunkJson(head_, !role_sent_, finished));
  if (request_.include_usage) last += SseData(UsageChunkJson(head_, finished.usage));
  last += kSseDone;
  ended_ = true;
  exchange_->Write(std::move(last));
  exchange_->EndStream();
}

void ChatSession::OnFailed(const Status& status) {
  ended_ = true;
  if (status.code() != StatusCode::kCancelled) metrics_.CountRefused(StatusCodeName(status.code()));
  exchange_->Annotate("error", std::string(StatusCodeName(status.code())));
  if (!stream_begun_) {
    exchange_->Send(ErrorReply(status));
    return;
  }
  exchange_->Write(SseData(ErrorBody(status)));
  exchange_->EndStream();
}

void ChatSession::CountText() {
  const auto now = Clock::now();
  if (last_text_) {
    metrics_.token_gap_seconds.Observe(Seconds(now - *last_text_));
  } else {
    metrics_.first_token_seconds.Observe(Seconds(now - started_));
    exchange_->Annotate("first_token_ms", fmt::format("{:.1f}", Seconds(now - started_) * 1000));
  }
  last_text_ = now;
}

void ChatSession::CountFinished(const FinishedEvent& finished) {
  exchange_->Annotate("finish", std::string(FinishReasonName(finished.reason)));
  exchange_->Annotate("prompt_tokens", fmt::format("{}", finished.usage.prompt_tokens));
  exchange_->Annotate("image_tokens", fmt::format("{}", finished.usage.image_tokens));
  exchange_->Annotate("completion_tokens", fmt::format("{}", finished.usage.completion_tokens));
}

}  // namespace saccade
