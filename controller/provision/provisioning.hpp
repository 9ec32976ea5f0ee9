// provisioning: what the controller learns about the resources that workloads need, and what it sends to agents.
// Parts    requests (request_book), right sizes (sizing_ladder), replicas (replica_book), levels of pods (pod_levels),
//          margins (margin_teacher)
// Errors   stored needs that cannot be read are logged, and learning starts from scratch
// Threads  single owner
#pragma once

#include <string>

#include "controller/provision/margin_teacher.hpp"
#include "controller/provision/pod_levels.hpp"
#include "controller/provision/replica_book.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/provision/sizing_ladder.hpp"

namespace wattle::controller {

struct ControllerConfig;
class Store;
class Watch;
class PrometheusRates;

class Provisioning {
 public:
  // `learner` null: learning is off, or provisioning.teacher. `audit` records orders about right sizes. The other
  // arguments outlive this object.
  Provisioning(const ControllerConfig& config, Store& store, const PrometheusRates& traffic, const Watch& watch,
               MarginLearner* learner, const Clock& clock, const Log& log, SizingLadder::Audit audit = {});

  // Call for each pod on a node with an agent, and again when the pod changes.
  void described(const kube::Pod& pod);
  // Call for a pod that has no node yet, or a node without an agent.
  void elsewhere(const kube::Pod& pod) { replicas_.elsewhere(pod); }
  // Call when the pod has ended, was deleted or got another UID.
  void gone(const std::string& uid);
  // Adds a complete interval of the node.
  void record(const Node& node) {
    requests_.record(node);
    sizing_.record(node);
  }
  // Adds a minute of a service on the node; `known` is the node's state, null if there is none.
  void minute(const std::string& node, const Node* known, const LimitMinute& minute);
  // Evaluates each minute once it has passed.
  Steps tick(const ClusterState& state);

  const RequestBook& requests() const { return requests_; }
  const ReplicaBook& replicas() const { return replicas_; }
  const PodLevels& levels() const { return levels_; }
  MarginTeacher& margins() { return margins_; }
  SizingLadder& sizing() { return sizing_; }
  const PrometheusRates& traffic() const { return traffic_; }

 private:
  const PrometheusRates& traffic_;
  const Watch& watch_;
  RequestBook requests_;
  SizingLadder sizing_;
  ReplicaBook replicas_;
  PodLevels levels_;
  MarginTeacher margins_;
};

}  // namespace wattle::controller
