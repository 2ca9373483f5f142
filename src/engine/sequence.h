// One request inside the engine: its tokens, its pages and what it still has to do.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/prefix_cache.h"
#include "engine/prepare.h"
#include "engine/request.h"
#include "engine/scheduler.h"

namespace saccade {

// Engine thread only.
class Sequence {
 public:
  using Clock = std::chrono::steady_clock;

  // `page_tokens` of the KV pool that its pages come from; `choice` counts the answers to one request.
  Sequence(uint64_t id, std::shared_ptr<const PreparedRequest> request, EventSink sink,
           const Checkpoint& checkpoint, int page_tokens, int choice = 0);

  uint64_t id() const { return id_; }
  const PreparedRequest& request() const { return *request_; }
  Stage stage() const { return stage_; }
  enum class Outcome : uint8_t { kOpen, kFinished, kCancelled, kFailed };
  Outcome outcome() const { return outcome_; }
  bool finished() const { return outcome_ != Outcome::kOpen; }
  SequenceView View() const;

  // ---- Stages
  // Takes the longest known beginning of its tokens from the cache. Only while nothing of its own is
  // computed; may be called again when the cache knows more.
  void MatchPrefix(PrefixCache& cache, KvPagePool& pool);
  // Gets a place. Pictures that are needed and not encoded yet go first.
  void Admit();
  // Gives up its place: everything but the tokens and the encoded pictures is computed again later. The
  // caller releases pages().
  void Preempt();
  // Gives the sequence the features of every picture of that digest; the last missing one ends the vision
  // stage.
  void SetFeatures(const Sha256Digest& digest, const std::shared_ptr<const ImageFeatures>& features);
  // Whether a picture is missing of which rows are still to be computed.
  bool needs_vision() const;
  bool NeedsPicture(const Sha256Digest& digest) const;
  // Pictures whose features are missing, each digest once, as indices into request().pictures.
  std::vector<size_t> MissingPictures() const;
  VisionPicture PictureAt(size_t index, const PreprocessorConfig& preprocessor) const;
  std::shared_ptr<const PreparedRequest> shared_request() const { return request_; }

  // ---- Steps
  // The rows [computed, computed + count) of this sequence, appended to the columns of a batch.
  struct BatchColumns {
    std::vector<int32_t> tokens, t, h, w;
    std::vector<ImageRows> images;
  };
  void AppendRows(int64_t count, BatchColumns& columns) const;
  // Rows were computed. True when the last known token was among them, so that its logits choose the next
  // one.
  bool Advance(int64_t count);
  // Lets the cache remember what is computed and known to be finite: complete pages, and at the end of the
  // sequence the last one as well.
  void RememberPrefix(PrefixCache& cache);
  // Chooses the next token from logits [vocab] and emits text; may finish the sequence. An error (NaN logits)
  // fails it.
  void Sample(std::span<const float> logits);

  // ---- Ends
  void Finish(FinishReason reason);
  void Fail(Status status);

  // ---- Shared with the loop
  std::vector<int32_t>& pages() { return pages_; }
  int64_t computed() const { return computed_; }
  bool started() const { return started_; }
  const RequestUsage& usage() const { return usage_; }
  void Emit(Event event) const { sink_(std::move(event)); }
  // Adds the duration of a step to the stage that the sequence was in.
  void AddTime(Stage stage, double ms);
  // Reports prompt or picture progress when it changed since the last report.
  void ReportProgress(ProgressEvent::Stage stage, int64_t done, int64_t total);

 private:
  int64_t known_tokens() const { return static_cast<int64_t>(tokens_.size()); }
  int64_t PictureTokens(size_t index) const;
  bool IsMissing(size_t index) const;
  void EmitText(std::string text, std::optional<int32_t> token, std::optional<TokenLogprob> logprob);
  bool EndsAnswer(int32_t token) const;

  const uint64_t id_;
  const std::shared_ptr<const PreparedRequest> request_;
  const EventSink sink_;
  const Checkpoint& checkpoint_;

  Stage stage_ = Stage::kWaiting;
  Outcome outcome_ = Outcome::kOpen;
  std::vector<int32_t> tokens_;  // prompt and answer
  int64_t computed_ = 0;
  int64_t verified_ = 0;  // computed tokens that were part of a step with finite logits
  bool started_ = false;  // some of the computed tokens are its own work
  bool preempted_ = false;
  std::vector<int32_t> pages_;
  PrefixChain chain_;
  uint64_t matched_version_ = 0;                                // of the cache at the last match; 0: never
  std::vector<std::shared_ptr<const ImageFeatures>> features_;  // one per picture, null until encoded

  Sampler sampler_;
  StreamDecoder decoder_;
  StopMatcher stop_;
  RequestUsage usage_;
  RequestTimings timings_;
  const Clock::time_point queued_at_ = Clock::now();
  ProgressEvent last_progress_;
};

}  // namespace saccade
