// latency: asks services for how many of their requests took longer than a target, from their own pages of metrics.
// Source   GET of a page on a loopback address, as configured (provisioning.latency); latency_histogram.hpp reads it
// Gives    sums since the agent started, per workload; a service that starts anew is counted on from there
// Rules    each page every 10 s, one after the other; one that failed after a minute; a second each to connect and to answer,
//          2 MiB; redirects are not followed
// Errors   a page that cannot be had, or is none, makes its workload's latency unknown until it is there again; told once
// Threads  a thread of its own that asks; totals() any
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/collect/latency_histogram.hpp"
#include "common/actuation.hpp"
#include "common/clock.hpp"
#include "common/http/client.hpp"
#include "common/log.hpp"

namespace wattle::agent {

inline constexpr std::size_t kMaxLatencySources = 32;

struct LatencySource {
  std::string workload;  // name of a service or VM
  std::string host;
  std::uint16_t port = 0;
  std::string path;
  HistogramQuery histogram;
};

struct LatencyPace {
  Duration every = std::chrono::seconds(10), after_failure = std::chrono::minutes(1);
};

// Readings of a counter that may begin anew, summed.
class LateRequestSum {
 public:
  // The first reading, and one that is lower than the last, is where counting begins.
  void add(const LateRequests& reading);
  const actuation::Requests& sum() const { return sum_; }

 private:
  std::optional<LateRequests> last_;
  actuation::Requests sum_;
};

class Latency {
 public:
  // One source at least. `log` must outlive it.
  Latency(const std::vector<LatencySource>& sources, const Log& log, LatencyPace pace = {});
  Latency(const Latency&) = delete;
  Latency& operator=(const Latency&) = delete;
  ~Latency();
  // By workload; absent where it is not known now.
  std::map<std::string, actuation::Requests> totals() const;

 private:
  struct Page;
  void keep_asking();
  void ask(Page& page);

  const Log& log_;
  const LatencyPace pace_;
  const SystemClock clock_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;                         // this and what is known of pages: under mutex_
  std::vector<std::unique_ptr<Page>> pages_;  // themselves never change
  std::thread thread_;
};

}  // namespace wattle::agent
