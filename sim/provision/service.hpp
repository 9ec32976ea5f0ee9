// service: requests that share the CPUs of one cgroup equally, each on at most one CPU, within its bandwidth.
// Source   processor sharing: with n requests on c cores each is served at min(1, c / n); Kleinrock 1976 has the theory
// Units    seconds of time and of CPU time
// Errors   none; time never decreases
// Threads  values; copies continue from the same state
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/provision/bandwidth.hpp"

namespace wattle::sim::provision {

class Service {
 public:
  explicit Service(double cores) : cores_(cores) {}

  void arrive(std::uint64_t request, double work_s);
  // Returns the time of the next event without a write or a new period: a request is done or the quota is used up.
  // Infinite if there is none.
  double next_event_s(double now_s) const;
  void advance(double from_s, double to_s);
  // Returns a request that is done now, if there is one.
  std::optional<std::uint64_t> take_done();

  // Call every kPeriodS: counts the period that ends, and refills.
  void begin_period();

  bool throttled() const { return !jobs_.empty() && bandwidth.empty(); }
  std::size_t waiting() const { return jobs_.size(); }
  std::uint64_t throttled_periods() const { return throttled_periods_; }

  Bandwidth bandwidth;

 private:
  struct Job {
    double served_at;  // in terms of served_s_
    std::uint64_t request;
    bool operator<(const Job& other) const { return served_at > other.served_at; }  // the heap's top is done first
  };
  double busy_cores() const { return std::min(static_cast<double>(jobs_.size()), cores_); }

  double cores_;
  std::vector<Job> jobs_;  // a heap
  double served_s_ = 0;    // time that a request would have been served since the start
  std::uint64_t throttled_periods_ = 0;
};

}  // namespace wattle::sim::provision
