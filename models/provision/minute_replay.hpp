// minute_replay: minutes of services in the order of time, with what was done and what it was worth, and the n-step transitions that
// they make.
// Flow     add() of a service, whose last choice it pays; end(): what follows is not a continuation. Stretches that have ended are
//          drawn from, uniformly
// Bounds   minutes that are kept; the oldest stretch goes first
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
  std::size_t minutes = 40'000;  // kept
  std::size_t n_step = 3;
  double discount = 0.9;  // a minute
};

class MinuteReplay {
 public:
  // Draws below a number.
  using Pick = std::function<std::size_t(std::size_t)>;
  explicit MinuteReplay(const ReplayOptions& options) : options_(options) {}

  // What the service's last choice became, and its next one.
  void add(const std::string& service, double reward, Observation state, std::uint32_t action);
  void end(const std::string& service);
  void end_all();
  std::size_t open(const std::string& service) const;  // minutes of its stretch under way
  std::size_t size() const { return kept_; }           // minutes of stretches that have ended
  // There must be some.
  void draw(std::vector<Transition>& batch, const Pick& pick) const;

  // For checkpoints: stretches that have ended.
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
