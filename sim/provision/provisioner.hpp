// provisioner: whoever sets limits; asked at each tick of 100 ms. All contestants are one.
// Source   what a node reads of a cgroup, and once a minute what is known of the requests that were answered in it
// Units    seconds, cores, requests/s
// Errors   a limit that the kernel would refuse is the provisioner's mistake, and ends the run with an error
// Threads  single owner
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "actuator/student/student.hpp"

namespace wattle::sim::provision {

struct ServiceReading {
  double used_s = 0;                    // since the last tick
  std::uint64_t throttled_periods = 0;  // likewise
  std::optional<actuator::CpuLimit> set;
  bool active = true;    // false: a replica that does not run
  double granted_s = 0;  // CPU time, since the last tick
  double working_gib = 0,
         missed_ratio = 0;  // memory that it works on; the share of it that was not there, since the last tick
};

struct MinuteReading {
  std::uint64_t count = 0, over = 0;  // requests that were answered in it, and how many of them above the target
  double p99_s = 0, rate_rps = 0;
  double used_cores = 0, granted_cores = 0;  // of all services
  double memory_gib = 0, replicas = 0;       // likewise
};

struct Reading {
  double now_s = 0, elapsed_s = 0;
  double cores = 0;     // of each service's node
  double target_s = 0;  // of the 99th percentile
  std::span<const ServiceReading>
      services;                           // [replicas x services]: the first replica of each, then the second of each
  const MinuteReading* minute = nullptr;  // at the tick that ends one
};

// What a service is besides its CPU limit.
struct Shape {
  std::size_t replicas = 1;
  std::optional<double> memory_gib;  // of each; absent: what it wants
};

class Provisioner {
 public:
  virtual ~Provisioner() = default;
  // `next` has a place per place of the reading's services; what stays absent is not written.
  virtual void tick(const Reading& reading, std::span<std::optional<actuator::CpuLimit>> next) = 0;
  // After tick; absent: each service stays as it is. One place a service.
  virtual std::span<const Shape> shapes() const { return {}; }
};

// A limit without burst.
inline actuator::CpuLimit plain_limit(double cores) {
  const auto quota_us = static_cast<std::int64_t>(cores * static_cast<double>(actuator::kPeriodUs));
  return {quota_us < 1000 ? 1000 : quota_us, 0};
}

}  // namespace wattle::sim::provision
