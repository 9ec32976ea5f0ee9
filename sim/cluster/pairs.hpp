// pairs: which applications disturb each other on a shared machine, and how much.
// Model    a pod beside at least one pod of a disturbing application runs at 1 / (1 + strength) of its speed; only the
//          strongest counts. It keeps its cores busy (caches, memory bandwidth and hardware threads are shared, so that
//          an instruction takes longer) and counts as waiting for the rest of its time. Its work is fixed, so that it
//          lives, and uses cores, for that much longer
// Realism  here pressure shows all of the slowdown. On a real node pressure shows the time waited for CPUs; a slowdown
//          within a CPU shows in latency only
// Units    strengths: 0.5 means that work takes one and a half times as long
// Errors   none
// Threads  values
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wattle::sim::cluster {

inline constexpr std::size_t kNoApp = static_cast<std::size_t>(-1);

class Pairs {
 public:
  explicit Pairs(std::size_t apps) : apps_(apps), strengths_(apps * apps) {}
  void disturb(std::size_t a, std::size_t b, double strength) {
    strengths_[a * apps_ + b] = strengths_[b * apps_ + a] = strength;
  }
  double strength(std::size_t a, std::size_t b) const { return a < apps_ && b < apps_ ? strengths_[a * apps_ + b] : 0; }

 private:
  std::size_t apps_;
  std::vector<double> strengths_;  // symmetric matrix over applications
};

}  // namespace wattle::sim::cluster
