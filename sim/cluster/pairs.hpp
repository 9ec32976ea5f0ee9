// pairs: which applications disturb each other where they share a machine, and how much.
// Model    a pod beside at least one pod of an application that disturbs its own runs at 1 / (1 + strength) of its speed, the strongest of
//          them counts. It keeps its cores busy all the same (caches, memory's bandwidth and hardware threads are shared, so that an
//          instruction takes longer), and waits for the rest of its time. Its work is fixed: it lives, and uses cores, for that much longer
// Likeness pressure tells all of that here; on a real node it tells what is waited for CPUs, and what is lost within them shows in
//          latency alone
// Units    strengths: 0.5 means that something takes one and a half times as long
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
  std::vector<double> strengths_;  // of each with each
};

}  // namespace wattle::sim::cluster
