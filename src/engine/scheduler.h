// What the next step does. Pure logic: no threads, no clock, no model, so that every rule is a unit test.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace saccade {

enum class Stage : uint8_t {
  kWaiting,  // not admitted: holds no pages
  kVision,   // admitted, some picture is not encoded yet
  kPrefill,  // prompt tokens left to compute
  kDecode,   // one token per step
};

// One request as the scheduler sees it, in order of arrival.
struct SequenceView {
  Stage stage = Stage::kWaiting;
  int64_t tokens = 0;    // prompt and generated tokens known so far
  int64_t computed = 0;  // of these, how many have keys and values
  int64_t pages_held = 0;
  bool held = false;   // its prompt is being computed for another sequence: no prompt tokens of its own now
  bool batch = false;  // of the batch class: behind everything interactive
  uint64_t user = 0;   // requests of one user share a turn; 0: a user of its own
  // The pages held, of which others may hold some too; empty: pages_held pages of its own.
  std::span<const int32_t> pages = {};
};

struct SchedulerLimits {
  int max_running = 16;                 // admitted sequences
  int64_t prefill_slice_tokens = 256;   // prompt tokens per step while answers are running
  int64_t prefill_burst_tokens = 1024;  // prompt tokens per step while none is
  int64_t page_tokens = 64;
  int64_t free_pages = 0;
  std::span<const int32_t> page_holders;  // by page: sequences that hold it
};

// Indices into the views. A sequence appears at most once in decode and prefill together.
struct StepPlan {
  struct Slice {
    size_t sequence = 0;
    int64_t tokens = 0;
  };
  std::vector<size_t> admit;    // waiting sequences that get a place now, in order
  std::vector<size_t> preempt;  // running sequences that give their pages back and compute again later
  std::vector<size_t> decode;
  std::vector<Slice> prefill;
};

// Rules:
//  - The order of service: interactive before batch; inside a class the users take turns (everybody's oldest
//    request, then everybody's second); inside a turn by arrival.
//  - A waiting sequence is admitted, in that order, when a place is free and its known tokens plus one page
//    fit the free pages; nobody overtakes a request that waits for pages.
//  - An interactive request that finds no place takes that of the last running one of the batch class, one in
//    a step.
//  - Every decoding sequence decodes. When pages run out the last running sequence of the order is preempted,
//    the first never is, so that somebody always finishes. A page that several hold is free when the last of
//    them is preempted.
//  - Prompt tokens fill the rest of the step's budget in that order, so that the first answer comes early.
StepPlan PlanStep(std::span<const SequenceView> sequences, const SchedulerLimits& limits);

}  // namespace saccade
