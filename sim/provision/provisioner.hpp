// provisioner: the interface of all contestants: sets limits at each tick of 100 ms.
// Source   a node's readings of a cgroup, and once a minute statistics of the requests answered in it
// Units    seconds, cores, requests/s
// Errors   a limit that the kernel would refuse is a bug of the provisioner, and ends the run with an error
// Threads  single owner
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "provision/student/student.hpp"

namespace wattle::sim::provision {

struct ServiceReading {
  double used_s = 0;                    // since the last tick
  std::uint64_t throttled_periods = 0;  // since the last tick
  std::optional<actuator::CpuLimit> set;
  bool active = true;    // false: a replica that does not run
  double granted_s = 0;  // CPU time, since the last tick
  double working_gib = 0,
         missed_ratio = 0;  // working memory; the share of it that was missing since the last tick
};

struct MinuteReading {
  std::uint64_t count = 0, over = 0;  // requests answered in the minute, and those above the target
  double p99_s = 0, rate_rps = 0;
  double used_cores = 0, granted_cores = 0;  // of all services
  double memory_gib = 0, replicas = 0;       // of all services
};

struct Reading {
  double now_s = 0, elapsed_s = 0;
  double cores = 0;     // of each service's node
  double target_s = 0;  // of the 99th percentile
  std::span<const ServiceReading>
      services;                           // [replicas x services]: the first replica of each, then the second of each
  const MinuteReading* minute = nullptr;  // set at the tick that ends a minute
};

// A service's settings apart from its CPU limit.
struct Shape {
  std::size_t replicas = 1;
  std::optional<double> memory_gib;  // of each replica; unset: its working set
};

class Provisioner {
 public:
  virtual ~Provisioner() = default;
  // `next` has one entry per entry of the reading's services; unset entries are not written.
  virtual void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) = 0;
  // Read after tick; one entry per service. Empty: no service changes.
  virtual std::span<const Shape> shapes() const { return {}; }
};

// A limit without burst.
inline actuator::CpuLimit plain_limit(double cores) {
  const auto quota_us = static_cast<std::int64_t>(cores * static_cast<double>(actuator::kPeriodUs));
  return {quota_us < 1000 ? 1000 : quota_us, 0};
}

}  // namespace wattle::sim::provision
