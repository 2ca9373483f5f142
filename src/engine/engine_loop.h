// The engine thread's work: one step after another over all sequences.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/image_cache.h"
#include "engine/kv_pages.h"
#include "engine/prefix_cache.h"
#include "engine/sequence.h"
#include "engine/step_budget.h"
#include "engine/vision_queue.h"

namespace saccade {

// Engine thread only. The owner feeds it with Add and Cancel between steps.
class EngineLoop {
 public:
  EngineLoop(const Checkpoint& checkpoint, const EngineOptions& options, KernelContext& context,
             std::unique_ptr<KvPagePool> pages);

  void Add(std::unique_ptr<Sequence> sequence);
  void Cancel(uint64_t id);
  void CancelAll();

  bool idle() const { return sequences_.empty(); }
  // Runs one step: a slice of vision work and one text batch. Events go out as they come up.
  void Step();

  EngineStats Stats() const;

 private:
  // A row of the batch whose logits choose the next token of a sequence.
  struct LogitRow {
    Sequence* sequence;
    int64_t row;
  };
  struct Batch {
    Sequence::BatchColumns columns;
    std::vector<SequenceRows> sequences;
    std::vector<LogitRow> logits;
    std::vector<std::pair<Sequence*, Stage>> members;
  };

  // A picture on its way through the tower, for whoever needs it.
  struct Flight {
    Sha256Digest digest;
    std::shared_ptr<const PreparedRequest> request;  // keeps the patches
  };

  StepShares Shares() const;
  StepPlan Plan(const StepShares& shares) const;
  // Whether an earlier answer to the same request is computing the prompt that both have.
  bool WaitsForSibling(const Sequence& sequence) const;
  void Apply(const StepPlan& plan);
  // Prompts that are about to be computed look once more for what others have computed in the meantime.
  void MatchPrefixes();
  void Release(Sequence& sequence);
  // Takes features from the cache, joins encodings that are under way, starts the others.
  void RequestPictures(Sequence& sequence);
  void StepVision(double budget_ms);
  void PictureDone(uint64_t flight, const std::shared_ptr<const ImageFeatures>& features);
  void PictureFailed(uint64_t flight, const Status& status);
  void ReportEncoding(Sequence& sequence, uint64_t flight);
  // Forgets encodings that nobody waits for any more.
  void RemoveFlights();
  void AddToBatch(Sequence& sequence, int64_t tokens, Batch& batch);
  void RunBatch(Batch& batch);
  void SampleRows(const Batch& batch);
  void ReportQueue();
  void RemoveFinished();
  Sequence* Find(uint64_t id);

  const Checkpoint& checkpoint_;
  const EngineOptions& options_;
  KernelContext& context_;
  std::unique_ptr<KvPagePool> pages_;
  PrefixCache prefixes_;
  std::deque<std::unique_ptr<Sequence>> sequences_;  // in order of arrival
  StepBudget budget_;
  VisionQueue vision_;
  ImageCache images_;
  std::map<uint64_t, Flight> flights_;  // by the id that the vision queue knows
  uint64_t next_flight_ = 1;
  TextScratch scratch_;
  std::vector<float> logits_;
  EngineStats totals_;
};

}  // namespace saccade
