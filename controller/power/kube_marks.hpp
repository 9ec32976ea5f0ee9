// kube_marks: NodeMarks over the API server.
// Marks    one strategic merge patch each, with the Node's resourceVersion as precondition; after a conflict the Node
//          is read again, at most kMarkAttempts times
// Conditions  from Kubernetes 1.37 on, mark, unmark and annotate also set the lifecycle conditions
// Rights   get and patch nodes, patch nodes/status, create pods/eviction, create events: the chart grants them with
//          sleep.mode auto
// Errors   those of node_marks.hpp. An Event that cannot be written is logged
// Threads  one call at a time; stop() from any
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/kube/http_api.hpp"
#include "common/log.hpp"
#include "controller/power/node_events.hpp"
#include "controller/power/node_marks.hpp"

namespace wattle::controller::power {

inline constexpr int kMarkAttempts = 5;

class KubeMarks final : public NodeMarks {
 public:
  // `instance`: name of this controller's pod or host, for Events.
  KubeMarks(kube::ApiServer server, std::string instance, const Clock& clock, const Log& log);
  Status mark(const std::string& node, const placement::sleep::NodePowerRecord& record) override;
  Status unmark(const std::string& node, const placement::sleep::NodePowerRecord& record) override;
  Status annotate(const std::string& node, const placement::sleep::NodePowerRecord& record) override;
  Result<Evicted> evict(const placement::sleep::Move& pod) override;
  Status event(const std::string& node, const NodeEvent& event) override;
  // Fails the current call and all later ones.
  void stop() { api_.stop(); }

 private:
  using Patch = std::function<Result<std::optional<SortedJson>>(const SortedJson& node)>;
  Result<SortedJson> read(const std::string& node);
  Status change(const std::string& node, const Patch& patch);
  Status report(const std::string& node, const placement::sleep::NodePowerRecord& record);
  Result<bool> has_conditions();

  const Clock& clock_;
  const Log& log_;
  kube::HttpApi api_;
  NodeEvents events_;
  std::optional<bool> has_conditions_;
};

}  // namespace wattle::controller::power
