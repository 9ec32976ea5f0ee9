// curves: training curves for TensorBoard: return and length of episodes, rewards and their terms, loss, Q, steps per
// second.
// Tags     docs/reference/networks.md lists them
// Episode  placements until one ends an episode (presets that end any), or else kEpisode placements
// Errors   a file that cannot be written: returned by flush()
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "models/frozen/event_file.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::controller {

class Curves {
 public:
  static constexpr std::uint64_t kEpisode = 100;
  static constexpr Duration kEvery = std::chrono::seconds(10);  // interval at which the owner flushes

  explicit Curves(std::string directory) : directory_(std::move(directory)) {}
  void add(const placement::Reward& reward);
  void add(const models::StepStats& stats);
  // Starts an episode of another reward; unflushed values of the former one are dropped.
  void begin_reward();
  // Writes the values since the last call and the current ones of `now`; writes nothing if there are no new values.
  Status flush(std::uint64_t step, WallTime at, models::Scalars now);
  // Takes the values; for tests and flush().
  models::Scalars take();

 private:
  struct Mean {
    double sum = 0;
    std::uint64_t count = 0;
    void add(double value) {
      sum += value;
      ++count;
    }
  };
  std::string directory_;
  std::optional<models::EventDir> events_;
  std::map<std::string, Mean> means_;
  double return_ = 0, max_abs_q_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace wattle::controller
