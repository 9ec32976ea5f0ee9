// learning: the interface of the trainer for other threads. This base class is used when learning is off: it ignores
// all calls.
// Threads  any
#pragma once

#include <cstdint>
#include <future>
#include <optional>
#include <string>

#include "controller/decisions/news.hpp"
#include "controller/trainer/model_orders.hpp"

namespace wattle::controller {

struct TrainerFigures {
  std::uint64_t steps = 0;
  bool resumed = false;  // from a checkpoint with any number of steps
  std::optional<double> steps_per_s, loss, mean_q, td_error, reward_centre;
  std::size_t replay = 0;
  std::uint64_t checkpoints = 0, failed_checkpoints = 0;
  std::string problem;  // the last one, for people
};

class Learning {
 public:
  Learning() = default;
  Learning(const Learning&) = delete;
  Learning& operator=(const Learning&) = delete;
  virtual ~Learning() = default;
  virtual bool on() const { return false; }
  virtual void post(LearningNews /*news*/) {}
  // Call only if learning is on. The trainer's own thread replies; unavailable if it ends first.
  virtual std::future<Result<std::string>> order(ModelOrder /*order*/) { return {}; }
  virtual ModelList models() const { return {}; }
  virtual TrainerFigures figures() const { return {}; }
  // Highest decision id in the checkpoint; new ids start above it.
  virtual std::uint64_t last_decision_id() const { return 0; }
};

}  // namespace wattle::controller
