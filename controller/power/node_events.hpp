// node_events: writes Events (events.k8s.io/v1) about nodes and about the pods that Wattle evicts, for `kubectl
// describe`.
// Rate     at most one per transition: an event that repeats the last one of its node is not written again
// Source   POST /apis/events.k8s.io/v1/namespaces/NAMESPACE/events; Events about nodes are in the namespace `default`
// Errors   those of api_errors.hpp
// Threads  single owner; calls block
#pragma once

#include <map>
#include <string>

#include "common/clock.hpp"
#include "common/json/value.hpp"
#include "common/kube/http_api.hpp"
#include "controller/power/evictions.hpp"
#include "controller/power/node_marks.hpp"

namespace wattle::controller::power {

class NodeEvents {
 public:
  // `instance`: name of this controller's pod or host.
  NodeEvents(kube::HttpApi& api, std::string instance, const Clock& clock);
  Status on_node(const std::string& node, const NodeEvent& event);
  Status on_eviction(const placement::sleep::Move& pod, const PodName& name);

 private:
  Status write(SortedJson event, const std::string& name_space, const std::string& name);

  kube::HttpApi& api_;
  const std::string instance_;
  const Clock& clock_;
  std::map<std::string, std::string> last_;  // text by node
};

}  // namespace wattle::controller::power
