// observe: the driver's inputs at runtime: the swarm's truth, and the status of controller and shim.
// Source   GET /nodes of the swarm; GET /api/v1/nodes and /api/v1/status of the controller; GET /metrics of the shim
// Units    in names
// Errors   malformed names the document; unavailable or timeout for a component that does not answer
// Threads  Observer single owner; the parsers are pure
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/http/client.hpp"
#include "sim/live/extender.hpp"
#include "sim/live/ledger.hpp"

namespace wattle::sim::live {

struct SwarmView {
  std::string epoch;  // differs after each start of the swarm
  std::vector<DriveNode> nodes;
};
Result<SwarmView> parse_swarm_nodes(std::string_view body);

struct ControllerNode {
  std::string name;
  bool connected = false;
  std::string power_state;  // "asleep"; empty: Wattle does not change its power
  std::string energy_source;
  std::optional<double> power_w, cpu_used_cores, latency_ms;
};
Result<std::vector<ControllerNode>> parse_controller_nodes(std::string_view body);

struct ControllerStatus {
  std::string mode, saving;         // `saving`: the modelled saving as a phrase
  std::vector<std::string> alarms;  // worst first
  bool learned_serves = false;      // the network that serves was learned on this cluster
  std::uint64_t placements = 0, outcomes = 0, gradient_steps = 0;
  std::optional<double> mean_reward, loss;
  std::string decides;                              // the current decider, and why
  std::map<std::string, std::uint64_t> decided_by;  // over the latest hundred decisions
};
Result<ControllerStatus> parse_controller_status(std::string_view body);

// Counters of one Prometheus metric by the value of one label.
std::map<std::string, double> metric_by_label(std::string_view text, std::string_view metric, std::string_view label);

// A counter that continues over restarts of its source.
class RestartedCounter {
 public:
  void see(double value) {
    sum_ += value >= last_ ? value - last_ : value;
    last_ = value;
  }
  double sum() const { return sum_; }

 private:
  double last_ = 0, sum_ = 0;
};

class Observer {
 public:
  Observer(const HttpAddress& swarm, const HttpAddress& controller, const HttpAddress& shim);
  Result<SwarmView> swarm();
  // Keeps the last good answer; `controller_away` is set if it is outdated.
  void look_at_controller();
  void look_at_shim();

  std::vector<ControllerNode> nodes;
  std::set<std::string> closed;  // names of nodes that sleep, fall asleep or wake: they take no pods
  std::optional<ControllerStatus> status;
  bool controller_away = true;
  std::uint64_t controller_misses = 0;  // failed attempts
  std::map<std::string, RestartedCounter> answers_by_source;

 private:
  http::Client swarm_, controller_, shim_;
};

// Sends GET and requires status 200.
Result<std::string> get(http::Client& client, const std::string& target, std::chrono::milliseconds timeout);

}  // namespace wattle::sim::live
