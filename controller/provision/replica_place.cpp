#include "controller/provision/replica_place.hpp"

#include <algorithm>

namespace wattle::controller {

std::string no_replicas(const ReplicaBook& replicas, bool api_server) {
  if (!api_server) return "no API server is followed (kubernetes.watch)";
  if (!replicas.on())
    return "replicas are not suggested (provisioning.replicas: suggest, with provisioning.prometheus)";
  return "";
}

ReplicaPlace place_of(const std::string& name, bool here, const RequestBook& requests, const ReplicaBook& replicas,
                      bool api_server) {
  ReplicaPlace place;
  const std::string* workload = here ? requests.workload_with(name) : nullptr;
  if (workload != nullptr) place.workload = *workload;
  place.withheld = no_replicas(replicas, api_server);
  if (!place.withheld.empty()) return place;
  const auto found = workload != nullptr ? requests.workloads().find(*workload) : RequestWorkloads::const_iterator{};
  if (workload == nullptr || found == requests.workloads().end() || !has_replicas(found->second.owner)) {
    place.withheld = "it is not a pod of a Deployment, ReplicaSet or StatefulSet";
    return place;
  }
  place.now = std::max<std::size_t>(1, replicas.replicas_of(*workload, found->second));
  const ReplicaOwner owner = replicas.owner_of(*workload);
  if (!owner.by)
    place.withheld = "it is not known whether an autoscaler owns the number: " + owner.problem;
  else if (!owner.by->empty())
    place.withheld = *owner.by + " owns the number";
  else if (const auto suggested = replicas.suggested(*workload))
    place.wanted = suggested->replicas;
  else
    place.withheld = "the number that its requests need is not known yet";
  return place;
}

Traffic traffic_of(const TrafficSource& source, const std::string& node, const std::string& name,
                   const ReplicaPlace& place) {
  if (place.workload.empty()) return source.traffic(node, name);
  Traffic traffic = source.traffic("", place.workload);
  if (traffic.rate_rps) traffic.rate_rps = *traffic.rate_rps / static_cast<double>(place.now);
  return traffic;
}

}  // namespace wattle::controller
