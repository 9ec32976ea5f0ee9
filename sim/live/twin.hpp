// twin: places the same pods a second time through another extender, on simulated nodes of its own, to show what a
// setting contributes: the demo's twin is a Wattle that does not learn.
// Pairing  the same pods, created and removed at the same moments, and the same nodes (a swarm with the same seed). A
//          pod that runs on this machine runs there in both
// Sleep    as its own controller and swarm say
// Cost     the twin's own account (sim/live/ledger)
// Errors   a swarm that does not answer gets its pods later; without an extender's answer the default scores decide
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
#include "sim/live/extender.hpp"
#include "sim/live/ledger.hpp"
#include "sim/live/observe.hpp"
#include "sim/world/workload.hpp"

namespace wattle::sim::live {

// Body of POST /pods of a swarm.
std::string swarm_pod(const std::string& name, const std::string& node, const SimPod& pod);

class Twin {
 public:
  struct Addresses {
    HttpAddress shim, swarm, controller;
  };
  Twin(const Addresses& at, std::chrono::milliseconds deadline, std::int64_t weight, std::uint64_t seed,
       const std::vector<DriveNode>& nodes, const Clock& clock);
  // `fixed`: the node of this machine, if the pod runs there. A pod that fits nowhere is left out.
  void place(const SimPod& pod, const LedgerPod& ledger_pod, std::optional<std::size_t> fixed);
  void remove(const std::string& uid);
  // Repeats what the swarm did not take.
  void retry();
  void remove_all();

  void advance(double dt_s) { ledger_.advance(dt_s); }
  // Takes over these latencies, and which of its own nodes sleep.
  void look(const std::vector<DriveNode>& nodes);
  const Ledger& ledger() const { return ledger_; }
  const AnswerCounts& answers() const { return extender_.counts(); }

 private:
  bool withdraw(const std::string& uid);

  Extender extender_;
  Observer observer_;
  http::Client swarm_;
  std::int64_t weight_;
  std::mt19937_64 random_;
  std::vector<DriveNode> nodes_;
  Ledger ledger_;
  std::map<std::string, std::string> to_deliver_;  // bodies by UID
  std::set<std::string> delivered_, to_withdraw_;
};

}  // namespace wattle::sim::live
