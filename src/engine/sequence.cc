#include "engine/sequence.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "base/stopwatch.h"

namespace saccade {
namespace {

// Every answer to a request draws other random numbers; the first one those of its seed.
SamplingParams SamplingOf(const PreparedRequest& request, int choice) {
  SamplingParams sampling = request.sampling;
  sampling.seed += static_cast<uint64_t>(choice) * 0x9E3779B97F4A7C15U;
  return sampling;
}

int64_t PictureTokens(const PreparedRequest& request, const Checkpoint& checkpoint, size_t index) {
  return request.grids[index].patches() / checkpoint.model->config().vision.merged_patches();
}

std::vector<PicturePlace> PlacesOf(const PreparedRequest& request, const Checkpoint& checkpoint) {
  std::vector<PicturePlace> places;
  for (size_t i = 0; i < request.grids.size(); ++i)
    places.push_back({request.image_starts[i], PictureTokens(request, checkpoint, i), request.digests[i]});
  return places;
}

}  // namespace

std::string_view FinishReasonName(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
  }
  return "?";
}

Sequence::Sequence(uint64_t id, std::shared_ptr<const PreparedRequest> request, EventSink sink,
                   const Checkpoint& checkpoint, int page_tokens, int choice)
    : id_(id),
      request_(std::move(request)),
      sink_(std::move(sink)),
      checkpoint_(checkpoint),
      tokens_(request_->prompt),
      chain_(request_->cache_scope, PlacesOf(*request_, checkpoint), page_tokens),
      features_(request_->pictures.size()),
      sampler_(SamplingOf(*request_, choice), request_->prompt),
      decoder_(checkpoint.tokenizer),
      stop_(request_->stop),
      timings_(request_->timings) {
  usage_.prompt_tokens = known_tokens();
  usage_.image_tokens = request_->image_tokens;
}

SequenceView Sequence::View() const {
  SequenceView view;
  view.stage = stage_;
  view.tokens = known_tokens();
  view.computed = computed_;
  view.pages_held = static_cast<int64_t>(pages_.size());
  view.pages = pages_;
  view.batch = request_->priority == Priority::kBatch;
  if (!request_->user.empty()) view.user = std::max<size_t>(1, std::hash<std::string>()(request_->user));
  return view;
}

void Sequence::Admit() {
  SACCADE_CHECK(stage_ == Stage::kWaiting);
  if (usage_.completion_tokens == 0 && timings_.queue == 0)
    timings_.queue = MillisecondsBetween(queued_at_, Clock::now());
  stage_ = needs_vision() ? Stage::kVision : Stage::kPrefill;
}

void Sequence::Preempt() {
  SACCADE_CHECK(pages_.empty());
  computed_ = verified_ = 0;
  started_ = false;
  preempted_ = true;
  matched_version_ = 0;
  stage_ = Stage::kWaiting;
}

void Sequence::MatchPrefix(PrefixCache& cache, KvPagePool& pool) {
  SACCADE_CHECK(!started_);
  if (matched_version_ == cache.version()) return;
  pool.Release(pages_);
  // The logits of the last known token are always needed.
  computed_ = cache.Match(chain_, tokens_, known_tokens() - 1, pages_);
  verified_ = computed_;
  matched_version_ = cache.version();
  if (!preempted_) usage_.cached_tokens = computed_;
}

void Sequence::RememberPrefix(PrefixCache& cache) {
  if (outcome_ != Outcome::kFailed && verified_ > 0)
    cache.Insert(chain_, tokens_, verified_, pages_, finished());
}

void Sequence::SetFeatures(const Sha256Digest& digest, const std::shared_ptr<const ImageFeatures>& features) {
  for (size_t i = 0; i < features_.size(); ++i) {
    if (request_->digests[i] == digest) features_[i] = features;
  }
  if (stage_ == Stage::kVision && !needs_vision()) stage_ = Stage::kPrefill;
}

int64_t Sequence::PictureTokens(size_t index) const {
  return saccade::PictureTokens(*request_, checkpoint_, index);
}

bool Sequence::IsMissing(size_t index) const {
  return features_[index] == nullptr && request_->image_starts[index] + PictureTokens(index) > computed_;
}

bool Sequence::needs_vision() const {
  for (size_t i = 0; i < features_.size(); ++i) {
    if (IsMissing(i)) return true;
  }
  return false;
}

std::vector<size_t> Sequence::MissingPictures() const {
  std::vector<size_t> missing;
  for (size_t i = 0; i < features_.size(); ++i) {
    if (!IsMissing(i)) continue;
    const bool again = std::any_of(missing.begin(), missing.end(), [&](size_t other) {
      return request_->digests[other] == request_->digests[i];
    });
    if (!again) missing.push_back(i);
  }
  return missing;
}

bool Sequence::NeedsPicture(const Sha256Digest& digest) const {
  for (size_t i = 0; i < features_.size(); ++i) {
    if (IsMissing(i) && request_->digests[i] == digest) return true;
  }
  return false;
}

VisionPicture Sequence::PictureAt(size_t index, const PreprocessorConfig& preprocessor) const {
  const PixelTransform transform = MakePixelTransform(preprocessor);
  return {request_->grids[index], request_->pictures[index].patches, transform.scale, transform.offset};
}

void Sequence::AppendRows(int64_t count, BatchColumns& columns) const {
  const auto first_row = static_cast<int64_t>(columns.tokens.size());
  const auto prompt = static_cast<int64_t>(request_->prompt.size());
  const PromptPositions& positions = request_->positions;
  for (int64_t i = computed_; i < computed_ + count; ++i) {
    const auto index = static_cast<size_t>(i);
    columns.tokens.push_back(tokens_[index]);
    const auto generated = static_cast<int32_t>(i) + positions.delta;
    columns.t.push_back(i < prompt ? positions.t[index] : generated);
    columns.h.push_back(i < prompt ? positions.h[index] : generated);
    columns.w.push_back(i < prompt ? positions.w[index] : generated);
  }
  for (size_t picture = 0; picture < features_.size(); ++picture) {
    const int64_t start = request_->image_starts[picture];
    const int64_t begin = std::max(computed_, start);
    const int64_t end = std::min(computed_ + count, start + PictureTokens(picture));
    if (begin >= end) continue;
    columns.images.push_back(
        {first_row + begin - computed_, end - begin, begin - start, features_[picture].get()});
  }
}

bool Sequence::Advance(int64_t count) {
  computed_ += count;
  started_ = true;
  SACCADE_CHECK(computed_ <= known_tokens());
  return computed_ == known_tokens();
}

bool Sequence::EndsAnswer(int32_t token) const {
  return !request_->ignore_eos && std::find(checkpoint_.end_ids.begin(), checkpoint_.end_ids.end(), token) !=
                                      checkpoint_.end_ids.end();
}

void Sequence::Sample(std::span<const float> logits) {
  const Result<int32_t> sampled = sampler_.Sample(logits);
  if (!sampled.ok()) return Fail(sampled.status());
  const int32_t token = *sampled;
  verified_ = computed_;
  if (timings_.first_token == 0) timings_.first_token = MillisecondsBetween(queued_at_, Clock::now());
  stage_ = Stage::kDecode;
  if (EndsAnswer(token)) {
    EmitText(stop_.Push(decoder_.Flush()) + stop_.Flush(), std::nullopt, std::nullopt);
    return Finish(FinishReason::kStop);
  }
  std::optional<TokenLogprob> logprob;
  if (request_->top_logprobs >= 0) {
    Result<Logprobs> values = ComputeLogprobs(logits, token, request_->top_logprobs);
    if (!values.ok()) return Fail(values.status());
    logprob = TokenLogprob{token, values->chosen, std::move(values->top)};
  }
  tokens_.push_back(token);
  ++usage_.completion_tokens;
  EmitText(stop_.Push(decoder_.Push(token)), token, logprob);
  if (stop_.matched()) return Finish(FinishReason::kStop);
  if (usage_.completion_tokens >= request_->max_tokens) {
    EmitText(stop_.Push(decoder_.Flush()) + stop_.Flush(), std::nullopt, std::nullopt);
    Finish(FinishReason::kLength);
  }
}

void Sequence::EmitText(std::string text, std::optional<int32_t> token, std::optional<TokenLogprob> logprob) {
  if (text.empty() && !token) return;
  TextEvent event;
  event.text = std::move(text);
  if (token) event.tokens.push_back(*token);
  if (logprob) event.logprobs.push_back(std::move(*logprob));
  Emit(std::move(event));
}

void Sequence::Finish(FinishReason reason) {
  SACCADE_CHECK(!finished());
  outcome_ = reason == FinishReason::kCancelled ? Outcome::kCancelled : Outcome::kFinished;
  Emit(FinishedEvent{reason, usage_, timings_});
}

void Sequence::Fail(Status status) {
  SACCADE_CHECK(!finished());
  outcome_ = Outcome::kFailed;
  Emit(FailedEvent{std::move(status)});
}

void Sequence::AddTime(Stage stage, double ms) {
  switch (stage) {
    case Stage::kWaiting:
      break;
    case Stage::kVision:
      timings_.vision += ms;
      break;
    case Stage::kPrefill:
      timings_.prefill += ms;
      break;
    case Stage::kDecode:
      timings_.decode += ms;
      break;
  }
}

void Sequence::ReportProgress(ProgressEvent::Stage stage, int64_t done, int64_t total) {
  const ProgressEvent progress = {stage, done, total};
  if (progress.stage == last_progress_.stage && progress.done == last_progress_.done &&
      progress.total == last_progress_.total) {
    return;
  }
  last_progress_ = progress;
  Emit(progress);
}

}  // namespace saccade
