// world: a service, or a chain of services that each request passes in order, under requests of a rate trace.
// Source   arrivals are Poisson with the rate of each second; works are log-normal, drawn with the arrival, so that
//          every contestant gets the same requests; services as in service.hpp, each with its own node and limit
// Replicas of a service each have a separate node, limit and memory. A request is sent to the replica with the fewest
//          waiting requests. Replicas start at once; a removed replica finishes its requests
// Memory   the working set of a replica: a base plus a part in proportion to the rate of the last minute. With less
//          memory, pages are read again, which makes requests more work; there are no OOM kills
// Gives    readings of 100 ms for a provisioner; figures of the grants and of minutes whose p99 was over the target
// Units    seconds, cores, GiB, requests/s
// Errors   write: values that the kernel would refuse
// Threads  single owner; copies continue from the same state, including the draws
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/rate_trace.hpp"
#include "sim/provision/provisioner.hpp"
#include "sim/provision/service.hpp"
#include "sim/world/random.hpp"

namespace wattle::sim::provision {

// Seeds for learning, separate from all evaluation seeds.
inline std::uint64_t learning_seed(int hour) { return mix(0x6c6561726eULL, static_cast<std::uint64_t>(hour)); }

inline constexpr std::size_t kMostServices = 8, kMostReplicas = 8;
inline constexpr double kShareOver = 0.01;  // a minute with a larger share of requests over target has its p99 over it

struct WorldOptions {
  std::shared_ptr<const RateTrace> trace;
  double work_s = 0.004, work_cv = 1;  // of a request in each service; cv 0: constant
  std::size_t services = 1;            // 1 to kMostServices
  double cores = 4;                    // that a service can use at once
  double target_s = 0.1;
  double warm_s = 600;       // before the judged time: the beginning of the trace, reversed
  double first_cores = 2;    // initial limit
  bool clairvoyant = false;  // each period grants what its requests will use, so that there is no throttling
  std::uint64_t seed = 1;
  std::size_t replicas = 1, most_replicas = 1;    // per service: initially, and maximum; at most kMostReplicas
  double memory_gib = 0, memory_gib_per_rps = 0;  // working set of a replica; both 0: memory is not simulated
};

struct Figures {
  double granted_cores = 0, used_cores = 0;  // means over judged time, of all services
  double memory_gib = 0, replicas = 0;       // means over judged time, of all services
  std::uint64_t minutes = 0, minutes_over = 0;
  std::uint64_t requests = 0, requests_over = 0;
  double requests_excess = 0;  // requests over target beyond kShareOver, summed over minutes
  double writes_per_minute = 0;
};

// Counts over the requests that arrived in a minute.
struct MinuteCount {
  std::uint64_t count = 0, over = 0;
  bool is_over() const { return static_cast<double>(over) > kShareOver * static_cast<double>(count); }
};

class World {
 public:
  explicit World(WorldOptions options);

  double now_s() const { return now_s_; }
  bool done() const { return now_s_ + 1e-9 >= end_s_; }
  // Advances to the next tick. The reading is valid until the next call. Requires !done().
  Reading advance();
  // Sets the limit of an entry of the reading's services.
  Status write(std::size_t place, const actuator::CpuLimit& limit);
  // Sets the shape of all replicas of a service.
  void shape(std::size_t service, const Shape& shape);
  Figures figures() const;
  // The judged minutes; a late request that still waits already counts as over.
  std::vector<MinuteCount> minutes() const;
  const WorldOptions& options() const { return options_; }

 private:
  struct Request {
    double arrived_s = 0;
    std::array<double, kMostServices> work_s{};
  };
  struct Sums {
    double granted_s = 0, used_s = 0;
    std::uint64_t writes = 0;
    double memory_gib_s = 0, replicas_s = 0;
  };
  // Memory of one replica.
  struct Memory {
    double rate_rps = 0, at_s = 0;   // over the last minute, decaying
    double missed = 0, arrived = 0;  // since the last reading: shares of pages, and requests
  };

  double rate_rps(std::int64_t second) const;
  void draw_next_arrival();
  void arrive();
  // Sends the request to the service's replica with the fewest waiting.
  void pass_on(std::size_t service, std::uint64_t request);
  void finish(std::size_t place, std::uint64_t request);
  bool active(std::size_t place) const { return place / options_.services < replicas_[place % options_.services]; }
  double working_gib(std::size_t place) const;
  double granted_gib(std::size_t place) const;
  void count_shapes(double seconds);
  void begin_period();
  void run_until(double to_s);
  void close_minute();
  Sums sums() const;
  MinuteCount* judged_minute(double arrived_s);

  WorldOptions options_;
  Random random_;
  std::vector<Service> services_;      // [replicas x services]: the first replica of each, then the second of each
  std::vector<Memory> memory_;         // in the order of services_
  std::vector<std::size_t> replicas_;  // of each service
  std::vector<std::optional<double>> memory_limit_gib_;  // of each service
  std::vector<Request> requests_;
  std::vector<std::uint64_t> free_;
  double now_s_ = 0, end_s_ = 0, next_arrival_s_ = 0, arrival_from_s_ = 0;
  std::uint64_t periods_ = 0, ticks_ = 0;
  double phase_s_ = 0;  // offset of ticks within periods
  double log_mean_ = 0, log_deviation_ = 0;

  std::vector<MinuteCount> minutes_;  // by arrival
  std::vector<double> answered_s_;    // latencies of the current minute
  std::uint64_t arrived_ = 0;         // in the current minute
  MinuteReading minute_;
  Sums minute_from_, judged_from_;
  double memory_gib_s_ = 0, replicas_s_ = 0;
  std::vector<ServiceReading> readings_;
  struct Counter {
    double used_s = 0, granted_s = 0;
    std::uint64_t throttled_periods = 0;
  };
  std::vector<Counter> before_;
  double read_s_ = 0;
};

// Synthetic traces of about 130 requests/s: diurnal (slow swings), noisy (a different rate around one mean each
// second), bursty (calm, with bursts of some minutes of up to three times the rate) and step (suddenly four times the
// rate, and back).
std::vector<RateTrace> synthetic_rates(std::uint64_t seed, std::size_t seconds);

// Runs a world to its end.
Result<Figures> play(World world, Provisioner& provisioner);
Status play_on(World& world, Provisioner& provisioner);

}  // namespace wattle::sim::provision
