// replica_place: the number of replicas of a pod's workload, and whether the teacher may choose another one.
// Rules    only for pods of workloads that have replicas (replica_book), with a number by the replica rule, and without
//          an autoscaler that owns it. Without an API server there are no such pods
// Units    requests/s
// Errors   none; `withheld` has the reason
// Threads  values
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "controller/provision/replica_book.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/provision/traffic.hpp"

namespace wattle::controller {

struct ReplicaPlace {
  std::string workload;  // "namespace/owner"; empty: not a pod of a known workload
  std::size_t now = 1;
  std::optional<std::size_t> wanted;  // by the replica rule; no value: the teacher does not choose the number
  std::string withheld;               // why the teacher does not choose
};

// Returns why this controller's teacher cannot choose replicas for any workload; empty if it can.
std::string no_replicas(const ReplicaBook& replicas, bool api_server);

// `name`: a pod's UID, or a service or VM. `here`: the reporting node has a workload of that name.
ReplicaPlace place_of(const std::string& name, bool here, const RequestBook& requests, const ReplicaBook& replicas,
                      bool api_server);

// The workload's traffic, divided by its replicas; for other names, the traffic of that name on the node.
Traffic traffic_of(const TrafficSource& source, const std::string& node, const std::string& name,
                   const ReplicaPlace& place);

}  // namespace wattle::controller
