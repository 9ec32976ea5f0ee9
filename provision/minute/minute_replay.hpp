// minute_replay: stores minutes of services in order of time with action and reward, and draws n-step transitions from
// them.
// Flow     add() for a service also sets the reward of its last choice; end() marks the end of a sequence of minutes.
//          Draws uniformly from finished stretches
// Bounds   number of minutes; drops the oldest stretch first
// Errors   none; restore: malformed
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/result.hpp"
#include "common/stats/moments.hpp"
#include "models/frozen/trainer.hpp"

namespace wattle::models::provision {

struct ReplayOptions {
  std::size_t minutes = 40'000;  // capacity
  std::size_t n_step = 3;
  double discount = 0.9;  // per minute
};

class MinuteReplay {
 public:
  // Returns a random number below its argument.
  using Pick = std::function<std::size_t(std::size_t)>;
  explicit MinuteReplay(const ReplayOptions& options) : options_(options) {}

  // Adds the reward of the service's last choice, and its next choice.
  void add(const std::string& service, double reward, Observation state, std::uint32_t action);
  void end(const std::string& service);
  void end_all();
  std::size_t open(const std::string& service) const;  // number of minutes in its current run
  std::size_t size() const { return kept_; }           // number of minutes in finished runs
  // Requires size() > 0.
  void draw(std::vector<Transition>& batch, const Pick& pick) const;

  // Saves finished stretches, for checkpoints.
  Weights save() const;
  Status restore(const Weights& saved);

 private:
  struct Lived {
    Observation state;
    std::uint32_t action = 0;
    double reward = 0;
  };
  void keep(std::vector<Lived> stretch);

  ReplayOptions options_;
  std::map<std::string, std::vector<Lived>> open_;
  std::deque<std::vector<Lived>> ended_;
  std::size_t kept_ = 0;
  stats::Moments rewards_;
};

}  // namespace wattle::models::provision
