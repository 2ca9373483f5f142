// How long requests take on this machine, learned from those that finished: for deadlines that cannot be met,
// Retry-After and estimates.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/request.h"

namespace saccade {

// Thread-safe. Rates are moving averages over finished requests, with the load that there was; nothing is
// predicted before the first one.
class CostModel {
 public:
  struct Work {
    int64_t prompt_tokens = 0, image_tokens = 0;
    int64_t answer_tokens = 0;  // at most; the mean of earlier answers counts when that is less
  };
  struct Seconds {
    double wait = 0;  // for the prompts of those that came before
    double vision = 0, prefill = 0, decode = 0;
    double first_token() const { return wait + vision + prefill; }
    double total() const { return first_token() + decode; }
  };

  void Observe(const RequestUsage& usage, const RequestTimings& timings);

  // nullopt before anything was observed.
  std::optional<Seconds> Predict(const Work& work) const;

  // The work up to its first token that a request brings. It counts as waiting time of later ones until the
  // ticket goes.
  using Ticket = std::shared_ptr<const void>;
  Ticket Enter(const Work& work);

  // When another try makes sense after the queue was found full: 1 to 60.
  int RetryAfterSeconds() const;

 private:
  // A moving average that starts at its first value.
  class Average {
   public:
    void Add(double value) {
      value_ = known_ ? value_ + kWeight * (value - value_) : value;
      known_ = true;
    }
    double value() const { return value_; }

   private:
    static constexpr double kWeight = 0.2;  // the last ten requests make nine tenths
    double value_ = 0;
    bool known_ = false;
  };

  Seconds PredictLocked(const Work& work) const;

  struct State {
    std::mutex mutex;
    double backlog_seconds = 0;
  };
  const std::shared_ptr<State> state_ = std::make_shared<State>();  // tickets may outlive the model
  bool known_ = false;
  Average vision_per_token_, prefill_per_token_, decode_per_token_, answer_tokens_;
};

}  // namespace saccade
