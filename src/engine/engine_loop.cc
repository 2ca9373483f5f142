#include "engine/engine_loop.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/stopwatch.h"

namespace saccade {
namespace {

// Patches of different requests that go through the tower together: enough rows to fill the matrix kernels.
// More would only delay the first answer of the group.
constexpr int64_t kMaxGroupPatches = 4096;

}  // namespace

EngineLoop::EngineLoop(const Checkpoint& checkpoint, const EngineOptions& options, KernelContext& context,
                       std::unique_ptr<KvPagePool> pages)
    : checkpoint_(checkpoint),
      options_(options),
      context_(context),
      pages_(std::move(pages)),
      prefixes_(*pages_, options.prefix_cache),
      budget_(options.max_gap_ms),
      vision_(checkpoint.model->vision(), kMaxGroupPatches),
      images_(options.image_cache_bytes) {}

void EngineLoop::Add(std::unique_ptr<Sequence> sequence) { sequences_.push_back(std::move(sequence)); }

Sequence* EngineLoop::Find(uint64_t id) {
  for (const auto& sequence : sequences_) {
    if (sequence->id() == id) return sequence.get();
  }
  return nullptr;
}

void EngineLoop::Cancel(uint64_t id) {
  if (Sequence* sequence = Find(id); sequence != nullptr && !sequence->finished()) {
    sequence->Finish(FinishReason::kCancelled);
  }
  RemoveFinished();
}

void EngineLoop::CancelAll() {
  for (const auto& sequence : sequences_) {
    if (!sequence->finished()) sequence->Finish(FinishReason::kCancelled);
  }
  RemoveFinished();
}

StepShares EngineLoop::Shares() const {
  int64_t decoding = 0;
  bool prompts = false;
  for (const auto& sequence : sequences_) {
    decoding += sequence->stage() == Stage::kDecode ? 1 : 0;
    prompts = prompts || sequence->stage() == Stage::kPrefill;
  }
  return budget_.Shares(decoding, !vision_.empty(), prompts);
}

StepPlan EngineLoop::Plan(const StepShares& shares) const {
  std::vector<SequenceView> views;
  views.reserve(sequences_.size());
  std::vector<int32_t> holders(static_cast<size_t>(pages_->total()), 0);
  for (const auto& sequence : sequences_) {
    views.push_back(sequence->View());
    views.back().held = WaitsForSibling(*sequence);
    for (int32_t page : sequence->pages()) ++holders[static_cast<size_t>(page)];
  }
  SchedulerLimits limits;
  limits.max_running = options_.max_running;
  limits.prefill_slice_tokens = std::min<int64_t>(options_.prefill_slice_tokens, shares.prefill_tokens);
  limits.prefill_burst_tokens = std::min<int64_t>(options_.prefill_burst_tokens, shares.prefill_tokens);
  limits.page_tokens = pages_->page_tokens();
  limits.free_pages = prefixes_.available();
  limits.page_holders = holders;
  return PlanStep(views, limits);
}

bool EngineLoop::WaitsForSibling(const Sequence& sequence) const {
  if (sequence.started() || !options_.prefix_cache) return false;
  for (const auto& other : sequences_) {
    if (other.get() == &sequence) return false;
    if (&other->request() == &sequence.request() && other->stage() == Stage::kPrefill) return true;
  }
  return false;
}

void EngineLoop::Apply(const StepPlan& plan) {
  for (size_t index : plan.preempt) {
    sequences_[index]->RememberPrefix(prefixes_);
    Release(*sequences_[index]);
    sequences_[index]->Preempt();
    ++totals_.preemptions;
  }
  for (size_t index : plan.admit) {
    Sequence& sequence = *sequences_[index];
    sequence.MatchPrefix(prefixes_, *pages_);
    RequestPictures(sequence);
    sequence.Admit();
  }
}

void EngineLoop::MatchPrefixes() {
  for (const auto& sequence : sequences_) {
    if (sequence->stage() == Stage::kPrefill && !sequence->started())
      sequence->MatchPrefix(prefixes_, *pages_);
  }
}

// Pages of a request that failed may hold numbers that are not finite.
void EngineLoop::Release(Sequence& sequence) {
  if (sequence.outcome() == Sequence::Outcome::kFailed) {
    for (int32_t page : sequence.pages()) {
      if (pages_->holders(page) == 1) pages_->Clear(page);
    }
  }
  pages_->Release(sequence.pages());
}

void EngineLoop::RequestPictures(Sequence& sequence) {
  for (size_t index : sequence.MissingPictures()) {
    const Sha256Digest& digest = sequence.request().digests[index];
    if (const ImageCache::Features features = images_.Find(digest)) {
      sequence.SetFeatures(digest, features);
      continue;
    }
    const bool under_way = std::any_of(flights_.begin(), flights_.end(),
                                       [&](const auto& flight) { return flight.second.digest == digest; });
    if (under_way) continue;
    ++totals_.pictures_encoded;
    flights_[next_flight_] = {digest, sequence.shared_request()};
    vision_.Add(next_flight_++, {sequence.PictureAt(index, checkpoint_.preprocessor)});
  }
}

void EngineLoop::PictureDone(uint64_t flight, const std::shared_ptr<const ImageFeatures>& features) {
  const Sha256Digest digest = flights_.at(flight).digest;
  flights_.erase(flight);
  images_.Insert(digest, features);
  for (const auto& sequence : sequences_) {
    if (sequence->stage() == Stage::kVision) sequence->SetFeatures(digest, features);
  }
}

void EngineLoop::PictureFailed(uint64_t flight, const Status& status) {
  const Sha256Digest digest = flights_.at(flight).digest;
  flights_.erase(flight);
  for (const auto& sequence : sequences_) {
    const bool waits = sequence->stage() == Stage::kVision && sequence->NeedsPicture(digest);
    if (waits && !sequence->finished()) sequence->Fail(status);
  }
}

void EngineLoop::StepVision(double budget_ms) {
  if (vision_.empty() || budget_ms <= 0) return;  // pictures that came in this step wait for the next
  const auto start = Sequence::Clock::now();
  vision_.Begin([this](uint64_t flight, const Status& status) { PictureFailed(flight, status); });
  std::vector<std::pair<Sequence*, uint64_t>> members;
  for (const auto& sequence : sequences_) {
    if (sequence->stage() != Stage::kVision || sequence->finished()) continue;
    for (uint64_t flight : vision_.InGroup()) {
      if (!sequence->NeedsPicture(flights_.at(flight).digest)) continue;
      members.emplace_back(sequence.get(), flight);
      ReportEncoding(*sequence, flight);
      break;  // the pictures of a group get on together
    }
  }
  vision_.Step(context_, budget_ms,
               [this](uint64_t flight, std::vector<std::shared_ptr<const ImageFeatures>> features) {
                 PictureDone(flight, features.front());
               });
  const double ms = MillisecondsSince(start);
  for (const auto& [sequence, flight] : members) {
    sequence->AddTime(Stage::kVision, ms);
    if (flights_.contains(flight)) ReportEncoding(*sequence, flight);
  }
}

void EngineLoop::ReportEncoding(Sequence& sequence, uint64_t flight) {
  const auto [done, total] = vision_.Progress(flight);
  sequence.ReportProgress(ProgressEvent::Stage::kVision, done, total);
}

void EngineLoop::RemoveFlights() {
  for (auto flight = flights_.begin(); flight != flights_.end();) {
    const bool wanted = std::any_of(sequences_.begin(), sequences_.end(), [&](const auto& sequence) {
      return sequence->stage() == Stage::kVision && sequence->NeedsPicture(flight->second.digest);
    });
    if (!wanted) vision_.Remove(flight->first);
    flight = wanted ? std::next(flight) : flights_.erase(flight);
  }
}

void EngineLoop::AddToBatch(Sequence& sequence, int64_t tokens, Batch& batch) {
  const bool room = prefixes_.Grow(sequence.pages(), sequence.computed() + tokens);
  SACCADE_CHECK(room);  // the plan counted the pages
  const auto first_row = static_cast<int64_t>(batch.columns.tokens.size());
  batch.sequences.push_back({first_row, tokens, sequence.computed(), sequence.pages()});
  batch.members.emplace_back(&sequence, sequence.stage());
  sequence.AppendRows(tokens, batch.columns);
  if (sequence.Advance(tokens)) batch.logits.push_back({&sequence, first_row + tokens - 1});
}

void EngineLoop::RunBatch(Batch& batch) {
  if (batch.sequences.empty()) return;
  const auto start = Sequence::Clock::now();
  std::vector<int64_t> rows;
  for (const LogitRow& row : batch.logits) rows.push_back(row.row);
  logits_.resize(rows.size() * static_cast<size_t>(checkpoint_.model->config().text.vocab));
  TextBatch input;
  input.tokens = batch.columns.tokens;
  input.position_t = batch.columns.t;
  input.position_h = batch.columns.h;
  input.position_w = batch.columns.w;
  input.sequences = batch.sequences;
  input.images = batch.columns.images;
  input.logit_rows = rows;
  const Status status =
      checkpoint_.model->text().Forward(context_, pages_->view(), input, scratch_, logits_.data());
  const double ms = MillisecondsSince(start);
  const int64_t decoding = std::count_if(batch.members.begin(), batch.members.end(),
                                         [](const auto& member) { return member.second == Stage::kDecode; });
  budget_.Observe(decoding, static_cast<int64_t>(batch.columns.tokens.size()) - decoding, ms);
  const auto width = static_cast<uint64_t>(batch.sequences.size());
  const size_t bucket = std::bit_width(width - 1);  // the first of 1, 2, 4, ... that is not smaller
  ++totals_.steps_by_width[std::min(bucket, totals_.steps_by_width.size() - 1)];
  totals_.step_sequences += static_cast<int64_t>(width);
  for (auto& [sequence, stage] : batch.members) {
    sequence->AddTime(stage, ms);
    if (!status.ok()) sequence->Fail(status);
  }
  if (status.ok()) SampleRows(batch);
}

void EngineLoop::SampleRows(const Batch& batch) {
  const auto vocab = static_cast<size_t>(checkpoint_.model->config().text.vocab);
  for (size_t i = 0; i < batch.logits.size(); ++i) {
    Sequence& sequence = *batch.logits[i].sequence;
    const Stage before = sequence.stage();
    sequence.Sample(std::span(logits_).subspan(i * vocab, vocab));
    if (before == Stage::kPrefill) sequence.RememberPrefix(prefixes_);
  }
  for (const auto& [sequence, stage] : batch.members) {
    if (stage == Stage::kPrefill && sequence->stage() == Stage::kPrefill) {
      sequence->ReportProgress(ProgressEvent::Stage::kPrefill, sequence->computed(),
                               static_cast<int64_t>(sequence->request().prompt.size()));
    }
  }
}

void EngineLoop::Step() {
  MatchPrefixes();
  const StepShares shares = Shares();
  const StepPlan plan = Plan(shares);
  Apply(plan);
  ReportQueue();
  StepVision(shares.vision_ms);
  Batch batch;
  for (size_t index : plan.decode) AddToBatch(*sequences_[index], 1, batch);
  for (const StepPlan::Slice& slice : plan.prefill)
    AddToBatch(*sequences_[slice.sequence], slice.tokens, batch);
  RunBatch(batch);
  RemoveFinished();
}

void EngineLoop::ReportQueue() {
  int64_t position = 0;
  for (const auto& sequence : sequences_) {
    if (sequence->stage() != Stage::kWaiting) continue;
    ++position;
    sequence->ReportProgress(ProgressEvent::Stage::kQueued, position, 0);
  }
}

void EngineLoop::RemoveFinished() {
  for (const auto& sequence : sequences_) {
    if (!sequence->finished()) continue;
    sequence->RememberPrefix(prefixes_);
    Release(*sequence);
    const RequestUsage& usage = sequence->usage();
    totals_.prompt_tokens += usage.prompt_tokens;
    totals_.image_tokens += usage.image_tokens;
    totals_.cached_tokens += usage.cached_tokens;
    totals_.completion_tokens += usage.completion_tokens;
    switch (sequence->outcome()) {
      case Sequence::Outcome::kFailed:
        ++totals_.requests_failed;
        break;
      case Sequence::Outcome::kCancelled:
        ++totals_.requests_cancelled;
        break;
      default:
        ++totals_.requests_finished;
        break;
    }
  }
  std::erase_if(sequences_, [](const auto& sequence) { return sequence->finished(); });
  RemoveFlights();
}

EngineStats EngineLoop::Stats() const {
  EngineStats stats = totals_;
  for (const auto& sequence : sequences_)
    ++(sequence->stage() == Stage::kWaiting ? stats.waiting : stats.running);
  stats.kv_pages_total = pages_->total();
  stats.kv_pages_used = pages_->total() - prefixes_.available();
  stats.kv_pages_cached = prefixes_.pages();
  stats.image_cache_bytes = images_.bytes();
  stats.image_cache_hits = images_.hits();
  return stats;
}

}  // namespace saccade
