// node_probes: asks the power drivers of nodes what they can do, and keeps the last answer of each node.
// Asks     each node at most every kProbeEvery, with the limit kProbeLimit; a node that was never asked first, then the
//          one whose answer is oldest. A round ends after kMostCalls calls or kRoundTime, so that drivers that do not
//          answer delay a plan only by that time and one more limit; the next round asks the others
// Observes a silent node whose driver can observe it, in each round
// Units    in names
// Errors   those of the drivers, as the text `problem` of the node
// Threads  ask() of one thread; stop() of any, and the round then ends with the current call
#pragma once

#include <atomic>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.hpp"
#include "controller/power/node_power.hpp"
#include "controller/power/power_config.hpp"

namespace wattle::controller::power {

inline constexpr Duration kProbeEvery = std::chrono::minutes(10), kRoundTime = std::chrono::seconds(10);
inline constexpr std::chrono::milliseconds kProbeLimit{3000};
inline constexpr std::size_t kMostCalls = 100;

struct ToProbe {
  Node node;
  bool silent = false;  // its agent does not report
};

struct ProbedNode {
  std::string drivers;                    // "redfish", or "exec, wol"; empty: the configuration has none for the node
  std::optional<Capabilities> able = {};  // unset: `problem` says why
  std::string problem = {};
  std::optional<PowerState> observed = {};  // unset: the node is not silent, or no driver can observe it
};

class NodeProbes {
 public:
  // The clock must outlive this object.
  NodeProbes(std::shared_ptr<const PowerConfig> config, std::shared_ptr<NodePower> power, const Clock& clock)
      : config_(std::move(config)), power_(std::move(power)), clock_(clock) {}
  // Returns an entry for each of the nodes.
  std::map<std::string, ProbedNode> ask(const std::vector<ToProbe>& nodes);
  void stop() { stop_ = true; }

 private:
  struct Kept {
    ProbedNode last;
    std::optional<MonoTime> at;  // of the last probe
  };
  void probe(const Node& node, Kept& kept);
  void observe(const Node& node, ProbedNode& last);

  const std::shared_ptr<const PowerConfig> config_;
  const std::shared_ptr<NodePower> power_;
  const Clock& clock_;
  std::map<std::string, Kept> kept_;
  std::atomic<bool> stop_{false};
};

}  // namespace wattle::controller::power
