// placer: places pods through one extender on the nodes of one swarm, and accounts for them: `wattle-sim drive` has one
// for Wattle, and one for its twin.
// Rules    filters by resources as NodeResourcesFit does, and excludes nodes that the controller reports as asleep, as
//          their cordon does in Kubernetes; calls /prioritize, adds default scores, binds to the winner
// Pods     on simulated nodes go to the swarm. Pods that it refused are sent again, as are all pods after its restart
// Errors   none: without an extender's answer the default scores decide
// Threads  single owner
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "sim/live/extender.hpp"
#include "sim/live/ledger.hpp"
#include "sim/live/observe.hpp"
#include "sim/world/workload.hpp"

namespace wattle::sim::live {

class Placer {
 public:
  struct Addresses {
    HttpAddress shim, swarm, controller;
  };
  Placer(const Addresses& at, std::chrono::milliseconds deadline, std::int64_t weight, std::uint64_t seed,
         const Clock& clock, const Log& log);
  // Removes pods that an earlier driver left on simulated nodes, for example because it was killed.
  void begin(std::vector<DriveNode> nodes);
  // Asks Wattle for a node; with `pinned` only to make the pod known. No value: it fits on no node that is awake.
  std::optional<std::size_t> choose(const placement::PodSpec& pod, const KubePod& request, bool real_usable,
                                    std::optional<std::size_t> pinned = std::nullopt);
  void place(std::size_t node, const SimPod& pod, const LedgerPod& ledger_pod);
  void remove(const std::string& uid);
  void remove_all();

  // Updates the true state of the simulated nodes.
  void read_swarm();
  void look_at_controller();
  // Repeats requests that the swarm did not accept.
  void retry();

  Ledger& ledger() { return *ledger_; }
  const Ledger& ledger() const { return *ledger_; }
  const std::vector<DriveNode>& nodes() const { return nodes_; }
  const Extender& extender() const { return extender_; }
  const Observer& observer() const { return observer_; }
  Observer& observer() { return observer_; }
  std::uint64_t retries() const { return retries_; }
  std::uint64_t swarm_restarts() const { return swarm_restarts_; }

 private:
  struct Delivery {
    std::string body;  // of POST /pods
    bool done = false;
  };
  bool deliver(const std::string& uid, Delivery& pod);
  bool withdraw(const std::string& uid);

  const Log& log_;
  Extender extender_;
  Observer observer_;
  http::Client swarm_;
  std::int64_t weight_;
  std::mt19937_64 random_;
  std::vector<DriveNode> nodes_;
  std::optional<Ledger> ledger_;
  std::string swarm_epoch_;
  std::map<std::string, Delivery> pods_;  // on simulated nodes, by UID
  std::set<std::string> to_withdraw_;
  std::uint64_t retries_ = 0, swarm_restarts_ = 0;
};

}  // namespace wattle::sim::live
