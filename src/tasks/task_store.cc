#include "tasks/task_store.h"

#include <array>
#include <random>

namespace saccade {
namespace {

constexpr std::array<std::string_view, kTaskStates> kNames = {"queued", "running",   "done",
                                                              "failed", "cancelled", "expired"};

}  // namespace

std::string_view TaskStateName(TaskState state) { return kNames[static_cast<size_t>(state)]; }

std::optional<TaskState> TaskStateFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<TaskState>(i);
  }
  return std::nullopt;
}

Result<PutOutcome> TaskStore::Put(const NewTask& task) {
  SACCADE_ASSIGN_OR_RETURN(std::vector<PutOutcome> outcomes, PutAll({&task, 1}));
  return std::move(outcomes.front());
}

std::string MakeTaskId() {
  std::random_device random;
  return fmt::format("task_{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace saccade
