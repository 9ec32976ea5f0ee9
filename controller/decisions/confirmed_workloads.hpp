// confirmed_workloads: follows workloads without Kubernetes from `wattle confirm` to their end: finds the unit of each
// on its node, and notices when it ends.
// Begin    on `wattle confirm`, or earlier if a unit of the workload's name appears on the node that it was advised to
// Unit     the named unit, or else the unit with the workload's name; searched for until it appears. A tied unit is the
//          workload (state/unit_ties)
// End      when the unit is removed, on `wattle done`, at the time limit, or when the unit becomes another workload. A
//          workload whose named unit does not appear within kAppears ends; one without a unit or a limit ends after
//          kLongestUntied
// Again    a unit that reappears within kReturnWindow of its end is the same workload, for example after a restart of a
//          service or node
// Restart  the store keeps running workloads; it is requested again when its node's agent says Hello
// Units    in names; limits are Unix seconds of the wall clock
// Errors   not_found; conflict: the API server has the pod, or several pods have the name
// Threads  single owner
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/log.hpp"
#include "common/result.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/unit_ties.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {

struct Confirmation {
  std::string uid, node;
  std::string unit;          // as the node's agent names it; empty: unknown
  bool ended = false;        // it has already ended and reserves nothing
  std::int64_t limit_s = 0;  // 0: no time limit
};
struct Ending {
  std::string uid, node;  // no node: it was not started
  bool ended = false;     // before this call
};

class ConfirmedWorkloads {
 public:
  static constexpr Duration kAppears = std::chrono::minutes(1);
  static constexpr Duration kLongestUntied = std::chrono::hours(24);
  static constexpr Duration kReturnWindow = std::chrono::minutes(10);

  ConfirmedWorkloads(ClusterState& state, Decider& decider, Store& store, const Clock& clock, const Log& log)
      : state_(state), decider_(decider), store_(store), clock_(clock), log_(log) {}

  // `pod`: a UID, a name or NAMESPACE/NAME. `unit` empty: the unit with its name.
  Result<Confirmation> confirm(const std::string& pod, const std::string& node, const std::string& unit,
                               std::optional<Duration> limit);
  Result<Ending> done(const std::string& pod, bool failed);

  // Call before the record is applied to state and store: gives units their workloads' UIDs. Returns true if the record
  // changed.
  bool name(const std::string& node, Record& record);
  // Records that the pod has left its node.
  void left(const placement::PodSpec& pod);
  // Restores a workload that ran when the store was last written.
  void recall(const PodFacts& pod);
  void greeted(const std::string& node);
  void tick();
  std::size_t size() const { return workloads_.size(); }

 private:
  struct Workload {
    std::string node;
    std::vector<std::string> names;  // possible names of its unit
    bool named = false;              // by the operator
    WorkloadKind kind = WorkloadKind::other;
    MonoTime seen_at{};  // in a record; before the first one, when it began
    std::int64_t limit_s = 0;
    bool limited = false;  // by the operator
  };
  // A workload that ended with its unit.
  struct Former {
    placement::PodSpec spec;
    std::uint64_t decision_id = 0;
    Workload workload;
    std::string unit;
    MonoTime at{};
  };

  Result<std::string> uid_of(const std::string& pod) const;
  // Restores the workload's names and spec in the state from its decision if the state had forgotten it.
  void know(const std::string& uid, const LoggedDecision* decision);
  std::string find_unit(const std::string& node, const std::vector<std::string>& names) const;
  void adopt(const Node& node, const Record& record);
  // Returns the UID of the workload that a so far untied unit is, or empty.
  std::string claimed(const Node& node, const WorkloadValues& unit);
  void tie(const std::string& uid, Workload& workload, const std::string& unit);
  void untie(const std::string& uid, const Workload& workload);
  void end(const std::string& uid, const char* why);
  void keep(const std::string& uid, const Workload& workload) const;
  std::int64_t now_s() const { return to_ns(clock_.wall()) / 1'000'000'000; }

  ClusterState& state_;
  Decider& decider_;
  Store& store_;
  const Clock& clock_;
  const Log& log_;
  UnitTies ties_;
  std::unordered_map<std::string, Workload> workloads_;    // by UID
  std::map<std::string, std::set<std::string>> waiting_;   // by node: UIDs whose unit is searched for
  std::map<std::string, std::vector<PodFacts>> recalled_;  // by node, until its agent says Hello
  std::map<std::string, std::vector<Former>> former_;      // by node; those that may reappear
  bool ending_ = false;                                    // ended by an order, so it cannot reappear
};

}  // namespace wattle::controller
