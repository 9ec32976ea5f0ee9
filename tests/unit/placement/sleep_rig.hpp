// sleep_rig: a cluster whose nodes sleep by the machine, the plan and the drain of placement/sleep, with faults.
// Parts    machines (power, boot, agent, BMC), an API server (pods, marks, disruption budgets, kubelet readiness), a
//          scheduler that binds pods to ready nodes without marks, and a controller that keeps only its records over a
//          restart
// Faults   each with its own chance per order or tick; none after calm()
// Threads  single owner; the same seed gives the same run
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/stats/draws.hpp"
#include "placement/sleep/power_machine.hpp"
#include "placement/sleep/sleep_plan.hpp"

namespace wattle::placement::sleep::testing {

struct Chances {
  double lost_goodbye = 0.03, refused = 0.03, aborted = 0.03, order_lost = 0.03;
  double no_wake = 0.1, spurious_wake = 0.0005;  // per wake; per tick of a sleeping node
  double bmc_lies = 0.002, bmc_silent = 0.1, bmc_denies = 0.05;
  double twice = 0.2;      // an event is delivered twice
  double restart = 0.01;   // per tick, and after each record is stored, before and after its action
  double crash = 0.00005;  // per tick of a node that is on
};

class SleepRig {
 public:
  SleepRig(std::size_t nodes, bool observable, std::uint64_t seed);

  void want_pods(std::size_t pods) { wanted_ = pods; }
  void calm() { chances_ = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}; }
  void tick();  // ten seconds

  std::uint64_t sleeps = 0, wakes = 0, evictions = 0, drains = 0, restarts = 0;
  std::map<std::string, std::uint64_t> faults;
  // Broken invariants, as text; empty: none.
  std::vector<std::string> breaches;
  bool all_take_pods() const;
  std::size_t pending() const;
  std::size_t running() const;

 private:
  struct Pod {
    std::string uid, owner;
    std::optional<std::size_t> node;
    double cores = 1;
  };
  struct Node {
    NodePowerRecord record;        // in the store
    bool on = true, agent = true;  // the machine
    WallTime boots_at{};           // power-on time; only while it boots
    bool booting = false;
    std::uint64_t slept_by = 0;          // last order that the agent carried out; it rejects it a second time
    std::optional<WallTime> resumes_at;  // after an aborted suspend
    bool marks = false;                  // in the API server
    WallTime contact{};                  // last report of the agent
    bool contact_known = true;           // the controller knows about the agent
    WallTime returned{};
  };

  bool happens(double chance, const char* fault);
  void event(std::size_t node, PowerEvent event);
  void store_and_act(std::size_t node, const PowerStep& step);
  void act(std::size_t node, PowerAction action);
  void order_sleep(std::size_t node);
  void order_wake(std::size_t node);
  Observed observe(std::size_t node);
  void restart();
  void evolve();
  void schedule();
  void scale();
  void control();
  void follow_drain();
  void plan();
  void check();
  bool kubelet_ready(const Node& node) const { return node.on && node.agent && !node.resumes_at; }
  std::vector<std::size_t> pods_on(std::size_t node) const;
  double cores_on(std::size_t node) const;
  bool budget_allows(const std::string& owner) const;
  void breach(std::size_t node, const std::string& what);

  stats::Random random_;
  Chances chances_;
  PowerLimits limits_;
  SleepConfig config_;
  WallTime now_ = wall_from_ns(1'800'000'000'000'000'000);
  std::vector<Node> nodes_;
  std::vector<Pod> pods_;
  std::size_t wanted_ = 0, made_ = 0;
  DemandOutlook outlook_;
  SleepLedger ledger_;
  std::unique_ptr<Drain> drain_;
  bool restarting_ = false;
};

}  // namespace wattle::placement::sleep::testing
