// latency: reads the number of requests that exceeded a target from services' metrics pages.
// Source   GET of a page on a loopback address, as configured (provisioning.latency); latency_histogram.hpp parses it
// Gives    sums since the agent started, per workload; continues when a service restarts
// Rules    reads each page every 10 s, one after the other; after a failure, a minute later. Allows one second to
//          connect, one to answer, and 2 MiB; does not follow redirects
// Errors   if a page is missing or invalid, its workload's latency is unknown until it is back; logged once
// Threads  its own thread reads the pages; totals() from any
#pragma once

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

// Sums a counter that may restart.
class LateRequestSum {
 public:
  // The first reading, and any reading below the previous one, starts a new count.
  void add(const LateRequests& reading);
  const actuation::Requests& sum() const { return sum_; }

 private:
  std::optional<LateRequests> last_;
  actuation::Requests sum_;
};

class Latency {
 public:
  // Needs at least one source. `log` must outlive this object.
  Latency(const std::vector<LatencySource>& sources, const Log& log, LatencyPace pace = {});
  Latency(const Latency&) = delete;
  Latency& operator=(const Latency&) = delete;
  ~Latency();
  // Returns sums by workload, only for those whose latency is known now.
  std::map<std::string, actuation::Requests> totals() const;

 private:
  struct Page;
  void keep_asking(const std::stop_token& stop);
  void ask(Page& page, const std::stop_token& stop);

  const Log& log_;
  const LatencyPace pace_;
  const SystemClock clock_;
  mutable std::mutex mutex_;                  // guards the results of pages
  std::vector<std::unique_ptr<Page>> pages_;  // the vector itself never changes
  std::jthread thread_;
};

}  // namespace wattle::agent
