// Pictures on their way through the vision tower, packed into groups across requests and run a slice at a
// time.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "model/model.h"

namespace saccade {

// Engine thread only.
class VisionQueue {
 public:
  using Owner = uint64_t;
  // Called once per owner with the features of its pictures, in order.
  using Done = std::function<void(Owner, std::vector<std::shared_ptr<const ImageFeatures>>)>;
  using Failed = std::function<void(Owner, const Status&)>;

  // Groups stop growing at `max_group_patches`; a single request may be larger.
  VisionQueue(const VisionTower& tower, int64_t max_group_patches)
      : tower_(tower), max_group_patches_(max_group_patches) {}

  // `pictures` alias memory that stays valid until Done, Failed or the return of Remove and of the Step under
  // way.
  void Add(Owner owner, std::vector<VisionPicture> pictures);
  // Forgets the owner's pictures. A group that is under way finishes for the others.
  void Remove(Owner owner);

  bool empty() const { return waiting_.empty() && job_ == nullptr; }
  // Starts a group when none is under way.
  void Begin(const Failed& failed);
  // Works on the group that was begun for about `budget_ms`, and at most to its end.
  void Step(KernelContext& context, double budget_ms, const Done& done);

  // Layers done and to do for a waiting or running owner; {0, total} while it waits.
  std::pair<int, int> Progress(Owner owner) const;
  // Owners in the group that is under way.
  std::vector<Owner> InGroup() const;

 private:
  struct Entry {
    Owner owner = 0;
    std::vector<VisionPicture> pictures;
    bool removed = false;
  };
  void StartGroup(const Failed& failed);
  void RunSlices(KernelContext& context, double budget_ms);
  void FinishGroup(const Done& done);

  const VisionTower& tower_;
  const int64_t max_group_patches_;
  std::deque<Entry> waiting_;
  std::vector<Entry> group_;
  std::unique_ptr<VisionJob> job_;
  // Measured speed of each kind of VisionTower::Work, so that slices fill the budget. The first guess is low:
  // the first slice is short, not the first gap long.
  std::array<double, 2> flops_per_ms_ = {2e7, 2e7};
};

}  // namespace saccade
