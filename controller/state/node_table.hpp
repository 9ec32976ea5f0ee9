// node_table: the nodes as their agents and an API server report them, and their rows in the view that placement/
// decides on; applies records to a node.
// Turn     a record ahead of its turn is shown at once and added to sums when it arrives in turn; older records that
//          follow are added but not shown
// Source   Hellos and records of agents; nodes of an API server, whose statements take precedence
// Errors   none: unknown values are unset
// Units    in names; times are the controller's monotonic clock
// Threads  single owner
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/clock.hpp"
#include "common/kube/node.hpp"
#include "common/outbox.hpp"
#include "common/wire/messages.hpp"
#include "controller/state/clock_map.hpp"
#include "controller/state/new_name_limit.hpp"
#include "controller/state/pod_sums.hpp"
#include "controller/state/view_rows.hpp"

namespace wattle::controller {

// Limits per node, independent of its agent's reports. Kubernetes runs 110 pods on a node by default and was tested
// with 500.
inline constexpr std::size_t kMaxWorkloads = 4096;
inline constexpr std::size_t kMaxPods = 2048;
// Workload that holds the sums of workloads beyond the limit.
inline constexpr std::string_view kOthers = "(others)";

// Energy of a container since its pod was first seen; kept after the container's end as long as the pod is here.
struct ContainerSum {
  std::string id;
  std::uint64_t energy_uj = 0;
  std::uint64_t listed = 0;  // Node::samples when it was added to last
};

// A workload root, summed over its cgroups.
struct Workload {
  WorkloadValues values;  // of the last interval
  std::optional<double> cpu_cores, power_w;
  double nested_cores = 0;         // of workloads within it, which cpu_cores does not contain
  std::optional<double> energy_j;  // since it was first seen
  // Use of everything that the workload's requests and limits cover.
  double whole_cores() const { return cpu_cores.value_or(0) + nested_cores; }
  // Containers of a pod, at most kMaxContainers; those that ended longest ago are dropped first. Their energy is part
  // of energy_j.
  std::vector<ContainerSum> containers;
  MonoTime first_seen{};
  std::uint64_t last_seq = 0;  // of the last interval in which it was there
  std::uint64_t listed = 0;    // Node::samples when a record last listed it
  bool missing = false;        // a record that listed all did not list it
};

// Power of a node that Wattle puts to sleep.
struct NodeSleep {
  bool asleep = false;     // its silence is intended
  bool closed = false;     // takes no pods, from the choice to sleep until it is back
  double wake_cost_j = 0;  // 0: it may not sleep by itself now
  double asleep_w = 0;     // drawn while it sleeps: measured, stated by its driver, or published
  bool operator==(const NodeSleep&) const = default;
};

struct Node {
  std::size_t row = 0;  // in the view
  wire::Hello hello;
  bool connected = false;
  std::shared_ptr<const kube::Node> kube;  // null: no API server reports it
  bool deleted = false;                    // its API server has deleted it
  NodeSleep sleep;
  std::optional<MonoTime> sampled_at;    // end of the last interval
  std::uint64_t incarnation = 0;         // of the session
  std::uint64_t record_incarnation = 0;  // of the last record, which a spool may have delayed
  std::uint64_t samples = 0;             // intervals
  std::uint64_t interval_seq = 0;        // of the first part of the last interval
  std::uint64_t parts_seen = 0;          // parts received of that interval
  std::deque<RecordMark> ahead;          // shown early, and still expected in order; ascending
  std::int64_t interval_ns = 0;
  NodeValues values;
  std::vector<ProbeValues> probes;
  std::optional<double> power_w, idle_w, unattributed_w;
  std::optional<double> energy_j;  // since the controller first saw the node
  ClockMap clock;
  std::map<std::string, Workload> workloads;   // by pod UID, unit or VM name
  std::set<std::string> pods;                  // bound here
  std::set<std::string> in_flight;             // advised to this node, not seen yet
  std::set<std::string> unsettled;             // bound here, their use not yet in the telemetry
  PodSums sums;                                // sums of these three sets
  NewNameLimit new_names{kMaxWorkloads};       // recent new names in its records
  NewNameLimit new_containers{kMaxWorkloads};  // recent new containers; its workloads list them
};

struct NodeTable {
  std::map<std::string, Node> nodes;
  std::unordered_map<std::string_view, Node*> by_name;  // the same, because each record looks its node up several times
  ViewRows rows;

  Node* find(std::string_view name) const {
    const auto found = by_name.find(name);
    return found == by_name.end() ? nullptr : found->second;
  }
  placement::NodeView& change(const Node& node) { return rows.change(node.row); }
};

// Turn of a record: in order, ahead of older ones that still wait at the agent, or after a newer one was shown.
enum class Turn : std::uint8_t { its_own, ahead, late };

// Changes to pods that a record reports.
struct RecordNews {
  MonoTime at{};                      // end of its interval
  std::vector<std::string> appeared;  // pods that were not known to be here
  std::vector<std::string> gone;
  Turn turn = Turn::its_own;
  bool again = false;  // a late record that was shown ahead of its turn, or one of another incarnation
};

// Returns the turn of the record; sets `again` as RecordNews has it.
Turn turn_of(Node& node, const Record& record, bool ahead, bool& again);
// Adds the energy of a record that comes too late to be shown. The energy of a workload that has ended is in the
//          store's ledger.
void add_late(Node& node, const Record& record);
// Merges workloads beyond kMaxWorkloads, and those with too many new names, into kOthers; returns how many.
std::size_t fold(Node& node, Record& record, MonoTime now);
// Begins the interval of the record, unless the record continues the current one.
void begin_interval(Node& node, const Record& record);
// Applies what the record reports; `sums`: also adds its energy to the sums.
void apply_values(Node& node, placement::NodeView& seen, const Record& record, MonoTime received, bool sums);
// Removes workloads that ended, and those that no part of a complete interval listed for too long.
void end_workloads(Node& node, const Record& record, bool sums);

}  // namespace wattle::controller
