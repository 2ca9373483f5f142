#include "server/answer_session.h"

#include <algorithm>

#include "base/utf8.h"
#include "server/chat_request.h"
#include "server/error_reply.h"
#include "server/page_by_page.h"
#include "server/sse.h"

namespace saccade {
namespace {

HttpResponse JsonReply(std::string body) {
  HttpResponse response;
  response.content_type = "application/json";
  response.body = std::move(body);
  return response;
}

// The answer may be as long as the context allows; the mean of other answers then says more.
constexpr int kAnyLength = 1 << 24;

double Seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

// Choices run side by side: what the client waited for is the longest.
RequestTimings Longest(RequestTimings a, const RequestTimings& b) {
  for (double RequestTimings::*member :
       {&RequestTimings::decode_image, &RequestTimings::resize, &RequestTimings::queue,
        &RequestTimings::vision, &RequestTimings::prefill, &RequestTimings::decode,
        &RequestTimings::first_token}) {
    a.*member = std::max(a.*member, b.*member);
  }
  return a;
}

}  // namespace

AnswerSession::AnswerSession(std::shared_ptr<Exchange> exchange, AnswerRequest request,
                             const Services& services, const AnswerSessionOptions& options)
    : exchange_(std::move(exchange)),
      backend_(services.backend),
      running_(services.running),
      costs_(services.costs),
      metrics_(services.metrics),
      options_(options),
      request_(std::move(request)),
      format_(*request_.format),
      exchange_id_(exchange_->request().id),
      choices_(request_.prompts.size() * static_cast<size_t>(request_.choices)) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  head_.id = std::string(format_.id_prefix()) + RequestIdFrom("");
  head_.created = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  head_.model = services.backend->model().id;
  if (request_.timeout_seconds) {
    deadline_ = exchange_->request().arrived + std::chrono::duration_cast<Clock::duration>(
                                                   std::chrono::duration<double>(*request_.timeout_seconds));
    exchange_->SetDeadline(*deadline_);
  }
}

void AnswerSession::Start(std::shared_ptr<Exchange> exchange, AnswerRequest request, const Services& services,
                          const AnswerSessionOptions& options) {
  const auto session = std::make_shared<AnswerSession>(exchange, std::move(request), services, options);
  const Status status = session->Submit(services.backend);
  if (!status.ok()) {
    exchange->Post([session, status] { session->Fail(status); });
    return;
  }
  exchange->Post([session] { session->Open(); });
  // Weak, because the session owns the exchange that holds this.
  exchange->OnGone([weak = std::weak_ptr(session)](GoneReason reason) {
    if (const auto self = weak.lock()) self->Stop(reason);
  });
}

Status AnswerSession::TimedOut() const {
  return DeadlineExceeded("the request's timeout of {} s has passed", *request_.timeout_seconds)
      .WithParam("timeout");
}

Status AnswerSession::CheckDeadline() {
  if (!deadline_) return OkStatus();
  const double left = Seconds(*deadline_ - Clock::now());
  if (left <= 0) return TimedOut();
  const auto predicted = costs_->Predict(work_);
  if (!predicted || predicted->total() <= left) return OkStatus();
  return ResourceExhausted(
             "the answer would take about {:.1f} s, {:.1f} s of them until others are served; its timeout "
             "leaves {:.1f} s",
             predicted->total(), predicted->wait, left)
      .WithParam("timeout");
}

Status AnswerSession::Prepare(const std::shared_ptr<ChatBackend>& backend) {
  for (const ChatInput& prompt : request_.prompts) {
    if (deadline_ && Clock::now() >= *deadline_) return TimedOut();
    if (exchange_->gone()) return Cancelled("the client went away");
    auto prepared = PrepareChat(backend, prompt);
    if (!prepared.ok()) return WithRequestPath(std::move(prepared).status(), request_.picture_paths);
    const RequestUsage cost = (*prepared)->Cost();
    work_.prompt_tokens += cost.prompt_tokens;
    work_.image_tokens += cost.image_tokens;
    work_.answer_tokens =
        std::max<int64_t>(work_.answer_tokens, prompt.options.max_tokens.value_or(kAnyLength));
    prepared_.push_back(std::move(*prepared));
    if (request_.pixel_boxes) SACCADE_RETURN_IF_ERROR(MeasurePictures(*backend, prompt));
  }
  request_.prompts.clear();  // the pictures live on in what was prepared
  return OkStatus();
}

Status AnswerSession::Submit(const std::shared_ptr<ChatBackend>& backend) {
  SACCADE_RETURN_IF_ERROR(Prepare(backend));
  SACCADE_RETURN_IF_ERROR(CheckDeadline());
  if (exchange_->gone()) return Cancelled("the client went away");
  ticket_ = costs_->Enter(work_);
  const auto self = shared_from_this();
  for (size_t index = 0; index < choices_.size(); ++index) {
    const size_t prompt = index / static_cast<size_t>(request_.choices);
    const auto choice = static_cast<int>(index) % request_.choices;
    SACCADE_RETURN_IF_ERROR(prepared_[prompt]->Submit(
        [self, index](Event event) {
          self->exchange_->Post(
              [self, index, event = std::move(event)]() mutable { self->OnEvent(index, std::move(event)); });
        },
        choice));
  }
  exchange_->request().queue_place.reset();
  return OkStatus();
}

// Boxes refer to the upright pictures as they came, whatever size the model sees.
Status AnswerSession::MeasurePictures(const ChatBackend& backend, const ChatInput& prompt) {
  SACCADE_ASSIGN_OR_RETURN(const RequestEstimate estimate, backend.Estimate(prompt));
  for (const RequestEstimate::Picture& picture : estimate.pictures)
    box_pictures_.sizes.push_back(picture.original);
  box_pictures_.usual = UsualPicture(prompt.conversation).value_or(0);
  return OkStatus();
}

void AnswerSession::Stop(GoneReason reason) {
  if (reason == GoneReason::kServerStopping) server_stopping_ = true;
  if (reason == GoneReason::kDeadlinePassed) deadline_passed_ = true;
  for (const auto& prepared : prepared_) prepared->Cancel();
}

void AnswerSession::Open() {
  open_ = true;
  const auto stop = [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->Stop(GoneReason::kClientGone);
  };
  running_->Add(head_.id, this, {request_.user, stop});
  running_->Add(exchange_id_, this, {request_.user, stop});
  if (request_.stream) BeginStream();
  for (auto& [index, event] : std::exchange(early_, {})) Handle(index, event);
}

// Refused. Choices that were queued already are taken back; nothing of them has been sent.
void AnswerSession::Fail(const Status& status) {
  if (ended_) return;
  ended_ = true;
  for (const auto& prepared : prepared_) prepared->Cancel();
  metrics_.CountRefused(StatusCodeName(status.code()));
  ticket_.reset();
  const bool later = status.code() == StatusCode::kResourceExhausted;
  exchange_->Send(later ? ErrorReply(status, costs_->RetryAfterSeconds()) : ErrorReply(status));
}

void AnswerSession::OnEvent(size_t index, Event event) {
  if (open_) return Handle(index, event);
  early_.emplace_back(index, std::move(event));
}

void AnswerSession::Handle(size_t index, const Event& event) {
  if (ended_) return;
  if (const auto* progress = std::get_if<ProgressEvent>(&event)) {
    OnProgress(*progress);
  } else if (const auto* piece = std::get_if<TextEvent>(&event)) {
    OnText(index, *piece);
  } else if (const auto* finished = std::get_if<FinishedEvent>(&event)) {
    OnFinished(index, *finished);
  } else {
    OnFailed(std::get<FailedEvent>(event).status);
  }
}

void AnswerSession::BeginStream() {
  if (stream_begun_ || ended_) return;
  stream_begun_ = true;
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers.emplace_back("cache-control", "no-cache");
  head.headers.emplace_back("x-accel-buffering", "no");  // nginx then passes every event on at once
  exchange_->StartStream(std::move(head), {kSsePing, options_.heartbeat});
}

// Of whichever choice is furthest from its first token; after that progress is of no interest.
void AnswerSession::OnProgress(const ProgressEvent& progress) {
  if (!request_.stream || first_text_seen_) return;
  std::string text = ProgressText(progress);
  if (text == last_progress_) return;
  if (request_.include_progress) {
    exchange_->Write(
        SseData(ChunkJson(format_, head_, OrderedJson::array(), {{"progress", ProgressJson(progress)}})));
  } else {
    exchange_->Write(SseComment(text));
  }
  last_progress_ = std::move(text);
}

OrderedJson AnswerSession::Logprobs(Choice& choice, const std::vector<TokenLogprob>& logprobs) const {
  const auto backend = backend_.lock();
  const TokenBytesFunction bytes = [&](int32_t token) {
    return backend ? backend->TokenBytes(token) : std::string();
  };
  return format_.Logprobs({logprobs, bytes, choice.characters});
}

void AnswerSession::OnText(size_t index, const TextEvent& piece) {
  Choice& choice = choices_[index];
  // The backend sends whole characters; should it ever not, none is torn here either.
  choice.partial += piece.text;
  std::string text;
  DrainUtf8(choice.partial, text);
  const bool reports = request_.logprobs && !piece.logprobs.empty();
  if (text.empty() && !reports) return;
  CountText(choice);
  if (request_.pixel_boxes && request_.stream) choice.text += text;
  if (request_.stream) {
    WriteText(index, text, reports ? Logprobs(choice, piece.logprobs) : OrderedJson());
    return;
  }
  choice.text += text;
  if (reports) choice.logprobs.insert(choice.logprobs.end(), piece.logprobs.begin(), piece.logprobs.end());
}

void AnswerSession::WriteText(size_t index, const std::string& text, OrderedJson logprobs) {
  Choice& choice = choices_[index];
  const bool first = !std::exchange(choice.text_sent, true);
  exchange_->Write(SseData(ChunkJson(
      format_, head_,
      OrderedJson::array({format_.TextChoice(static_cast<int>(index), text, first, std::move(logprobs))}))));
}

void AnswerSession::OnFinished(size_t index, const FinishedEvent& finished) {
  if (finished.reason == FinishReason::kCancelled) {
    OnFailed(deadline_passed_   ? TimedOut()
             : server_stopping_ ? Unavailable("the server is stopping")
                                : Cancelled("the request was cancelled"));
    return;
  }
  Choice& choice = choices_[index];
  choice.finished = finished;
  costs_->Observe(finished.usage, finished.timings);
  const std::string rest = choice.partial.empty() ? "" : ReplaceInvalidUtf8(choice.partial);
  if (request_.stream) {
    if (!rest.empty()) WriteText(index, rest, nullptr);
    OrderedJson last = format_.LastChoice(static_cast<int>(index), !choice.text_sent, finished.reason);
    if (!finished.pages.empty()) AddPageAnswers(finished.pages, last["delta"]);
    if (request_.pixel_boxes) last["delta"]["boxes"] = PixelBoxesJson(choice.text + rest, box_pictures_);
    exchange_->Write(SseData(ChunkJson(format_, head_, OrderedJson::array({last}),
                                       {{"timings_ms", TimingsJson(finished.timings)}})));
  } else {
    choice.text += rest;
  }
  const bool all = std::all_of(choices_.begin(), choices_.end(), [](const Choice& c) { return c.finished; });
  if (!all) return;
  CountFinished();
  request_.stream ? EndStream() : SendWhole();
}

void AnswerSession::SendWhole() {
  OrderedJson entries = OrderedJson::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    Choice& choice = choices_[i];
    OrderedJson logprobs = request_.logprobs ? Logprobs(choice, choice.logprobs) : OrderedJson();
    entries.push_back(
        format_.WholeChoice(static_cast<int>(i), choice.text, std::move(logprobs), choice.finished->reason));
    if (!choice.finished->pages.empty()) AddPageAnswers(choice.finished->pages, entries.back()["message"]);
    if (request_.pixel_boxes) entries.back()["message"]["boxes"] = PixelBoxesJson(choice.text, box_pictures_);
  }
  End();
  exchange_->Send(JsonReply(WholeJson(format_, head_, std::move(entries), TotalUsage(), LongestTimings())));
}

void AnswerSession::EndStream() {
  std::string last;
  if (request_.include_usage) {
    last += SseData(ChunkJson(format_, head_, OrderedJson::array(), {{"usage", UsageJson(TotalUsage())}}));
  }
  last += kSseDone;
  End();
  exchange_->Write(std::move(last));
  exchange_->EndStream();
}

void AnswerSession::OnFailed(const Status& status) {
  for (const auto& prepared : prepared_) prepared->Cancel();  // the other choices
  End();
  if (status.code() != StatusCode::kCancelled) metrics_.CountRefused(StatusCodeName(status.code()));
  exchange_->Annotate("error", std::string(StatusCodeName(status.code())));
  if (!stream_begun_) {
    exchange_->Send(ErrorReply(status));
    return;
  }
  exchange_->Write(SseData(ErrorBody(status)));
  exchange_->EndStream();
}

void AnswerSession::End() {
  ended_ = true;
  ticket_.reset();
  running_->Remove(head_.id, this);
  running_->Remove(exchange_id_, this);
}

// A prompt counts once, however many answers it gets.
RequestUsage AnswerSession::TotalUsage() const {
  RequestUsage total;
  for (size_t i = 0; i < choices_.size(); ++i) {
    const RequestUsage& usage = choices_[i].finished->usage;
    total.completion_tokens += usage.completion_tokens;
    if (i % static_cast<size_t>(request_.choices) != 0) continue;
    total.prompt_tokens += usage.prompt_tokens;
    total.image_tokens += usage.image_tokens;
    total.cached_tokens += usage.cached_tokens;
  }
  return total;
}

RequestTimings AnswerSession::LongestTimings() const {
  RequestTimings timings;
  for (const Choice& choice : choices_) timings = Longest(timings, choice.finished->timings);
  return timings;
}

void AnswerSession::CountText(Choice& choice) {
  const auto now = Clock::now();
  if (choice.last_text) {
    metrics_.token_gap_seconds.Observe(Seconds(now - *choice.last_text));
  } else if (!std::exchange(first_text_seen_, true)) {
    ticket_.reset();
    metrics_.first_token_seconds.Observe(Seconds(now - started_));
    exchange_->Annotate("first_token_ms", Seconds(now - started_) * 1000);
  }
  choice.last_text = now;
}

void AnswerSession::CountFinished() {
  const RequestUsage usage = TotalUsage();
  exchange_->Annotate("finish", std::string(FinishReasonName(choices_.front().finished->reason)));
  exchange_->Annotate("prompt_tokens", usage.prompt_tokens);
  exchange_->Annotate("image_tokens", usage.image_tokens);
  exchange_->Annotate("cached_tokens", usage.cached_tokens);
  exchange_->Annotate("completion_tokens", usage.completion_tokens);
  const RequestTimings timings = LongestTimings();
  exchange_->Annotate("prepare_ms", timings.decode_image + timings.resize);
  exchange_->Annotate("queue_ms", timings.queue);
  exchange_->Annotate("vision_ms", timings.vision);
  exchange_->Annotate("prefill_ms", timings.prefill);
  exchange_->Annotate("decode_ms", timings.decode);
  metrics_.queue_seconds.Observe(timings.queue / 1000);
  if (usage.image_tokens > 0) {
    metrics_.picture_seconds.Observe((timings.decode_image + timings.resize) / 1000);
    metrics_.vision_seconds.Observe(timings.vision / 1000);
  }
}

}  // namespace saccade
