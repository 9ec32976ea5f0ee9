// curves: what training did, for TensorBoard: return and length of episodes, rewards and their terms, loss, Q, steps a second.
// Tags     docs/reference/networks.md lists them
// Episode  placements until one ends an episode (presets that end any), else every kEpisode of them
// Errors   a file that cannot be written: told by flush()
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "models/frozen/event_file.hpp"
#include "models/frozen/trainer.hpp"
#include "placement/reward.hpp"

namespace wattle::controller {

class Curves {
 public:
  static constexpr std::uint64_t kEpisode = 100;
  static constexpr Duration kEvery = std::chrono::seconds(10);  // how often whoever owns it flushes

  explicit Curves(std::string directory) : directory_(std::move(directory)) {}
  void add(const placement::Reward& reward);
  void add(const models::StepStats& stats);
  // Another reward judges from here on: what was not flushed of the former one is dropped, and an episode begins.
  void begin_reward();
  // What came since the last time, with what stands now; nothing came: nothing is written.
  Status flush(std::uint64_t step, WallTime at, models::Scalars now);
  // For tests, and flush().
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
