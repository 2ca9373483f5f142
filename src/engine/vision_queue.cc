#include "engine/vision_queue.h"

#include <algorithm>
#include <chrono>

#include "base/stopwatch.h"

namespace saccade {
namespace {

// Slices shorter than this say little about the speed.
constexpr double kTellingMs = 1;
constexpr double kNewShare = 0.5;
// A rest of the budget below this share is not worth a slice.
constexpr double kWorthwhile = 0.125;

int64_t PatchesOf(const std::vector<VisionPicture>& pictures) {
  int64_t patches = 0;
  for (const VisionPicture& picture : pictures) patches += picture.grid.patches();
  return patches;
}

}  // namespace

void VisionQueue::Add(Owner owner, std::vector<VisionPicture> pictures) {
  waiting_.push_back({owner, std::move(pictures), false});
}

void VisionQueue::Remove(Owner owner) {
  std::erase_if(waiting_, [owner](const Entry& entry) { return entry.owner == owner; });
  for (Entry& entry : group_) {
    if (entry.owner == owner) entry.removed = true;
  }
  // The job reads the patches of all its pictures only in its first layer, but a group nobody waits for is
  // waste.
  if (std::all_of(group_.begin(), group_.end(), [](const Entry& entry) { return entry.removed; })) {
    group_.clear();
    job_.reset();
  }
}

void VisionQueue::StartGroup(const Failed& failed) {
  int64_t patches = 0;
  std::vector<VisionPicture> pictures;
  while (!waiting_.empty()) {
    const int64_t more = PatchesOf(waiting_.front().pictures);
    if (!group_.empty() && patches + more > max_group_patches_) break;
    patches += more;
    group_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    pictures.insert(pictures.end(), group_.back().pictures.begin(), group_.back().pictures.end());
  }
  Result<std::unique_ptr<VisionJob>> job = tower_.Start(std::move(pictures));
  if (job.ok()) {
    job_ = std::move(job).value();
    return;
  }
  std::vector<Entry> lost = std::move(group_);
  group_.clear();
  for (const Entry& entry : lost) failed(entry.owner, job.status());
}

void VisionQueue::FinishGroup(const Done& done) {
  std::vector<ImageFeatures> features = job_->TakeFeatures();
  std::vector<Entry> finished = std::move(group_);
  group_.clear();
  job_.reset();
  size_t next = 0;
  for (const Entry& entry : finished) {
    std::vector<std::shared_ptr<const ImageFeatures>> own;
    for (size_t i = 0; i < entry.pictures.size(); ++i) {
      own.push_back(std::make_shared<const ImageFeatures>(std::move(features[next++])));
    }
    if (!entry.removed) done(entry.owner, std::move(own));
  }
}

void VisionQueue::RunSlices(KernelContext& context, double budget_ms) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  double left = budget_ms;
  do {
    double& speed = flops_per_ms_[static_cast<size_t>(tower_.NextWork(*job_))];
    const Clock::time_point begin = Clock::now();
    const double flops = tower_.Step(context, *job_, speed * left);
    const double ms = MillisecondsSince(begin);
    if (ms >= kTellingMs) speed += kNewShare * (flops / ms - speed);
    left = budget_ms - MillisecondsSince(start);
  } while (!job_->done() && left > kWorthwhile * budget_ms);
}

void VisionQueue::Begin(const Failed& failed) {
  if (job_ == nullptr && !waiting_.empty()) StartGroup(failed);
}

void VisionQueue::Step(KernelContext& context, double budget_ms, const Done& done) {
  if (job_ == nullptr) return;
  RunSlices(context, budget_ms);
  if (job_->done()) FinishGroup(done);
}

std::pair<int, int> VisionQueue::Progress(Owner owner) const {
  const int total = tower_.config().depth + 2;
  const bool in_group =
      std::any_of(group_.begin(), group_.end(), [owner](const Entry& entry) { return entry.owner == owner; });
  return {in_group && job_ != nullptr ? job_->layers_done() : 0, total};
}

std::vector<VisionQueue::Owner> VisionQueue::InGroup() const {
  std::vector<Owner> owners;
  for (const Entry& entry : group_) {
    if (!entry.removed) owners.push_back(entry.owner);
  }
  return owners;
}

}  // namespace saccade
