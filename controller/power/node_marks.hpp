// node_marks: the interface to the cluster that a sleeping node belongs to. Marks keep pods and other tools away from a
// node that Wattle empties or puts to sleep; evictions empty it; Events report each transition to its operators.
// Calls    block until the API server has answered; the controller makes them on a separate task thread, never on the
//          loop
// Repeats  mark, unmark and annotate are idempotent: after a crash the caller repeats them. They change Wattle's own
//          marks only; those of operators and other tools stay, except Cluster Autoscaler's taint (mark_patch.hpp). A
//          Node is never deleted
// Errors   not_found (no such node), denied (rights), conflict (the node changed at each attempt), unavailable,
//          timeout, malformed; each names the node or pod and a fix
// Threads  any, one call at a time
#pragma once

#include <cstdint>
#include <string>

#include "common/result.hpp"
#include "placement/sleep/drain.hpp"
#include "placement/sleep/power_state.hpp"

namespace wattle::controller::power {

// An entry of `kubectl describe node`. `reason`: one word, in CamelCase.
struct NodeEvent {
  std::string reason, message;
  bool warning = false;
};

// refused: a PodDisruptionBudget allows no eviction of the pod now. gone: the pod has left, or ended.
enum class Evicted : std::uint8_t { accepted, refused, gone };

class NodeMarks {
 public:
  virtual ~NodeMarks() = default;
  // Cordon, taint, label and annotations.
  virtual Status mark(const std::string& node, const placement::sleep::NodePowerRecord& record) = 0;
  virtual Status unmark(const std::string& node, const placement::sleep::NodePowerRecord& record) = 0;
  // The state and the operation of the record, as annotations. Called before each action.
  virtual Status annotate(const std::string& node, const placement::sleep::NodePowerRecord& record) = 0;
  // Uses the Eviction API only, with the pod's UID as precondition.
  virtual Result<Evicted> evict(const placement::sleep::Move& pod) = 0;
  virtual Status event(const std::string& node, const NodeEvent& event) = 0;
};

}  // namespace wattle::controller::power
