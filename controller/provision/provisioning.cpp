#include "controller/provision/provisioning.hpp"

#include <utility>

#include "controller/config.hpp"
#include "controller/kube/watch.hpp"
#include "controller/provision/prometheus.hpp"
#include "controller/provision/replica_place.hpp"
#include "controller/store/store.hpp"

namespace wattle::controller {
namespace {

RequestBook book_of(const ControllerConfig& config, Store& store, const Clock& clock) {
  if (config.provision == ProvisionLevel::off) return RequestBook(clock);
  return RequestBook(clock, store.requests_found(),
                     [&store](std::vector<RequestRow> rows) { store.keep(std::move(rows)); });
}

}  // namespace

Provisioning::Provisioning(const ControllerConfig& config, Store& store, const PrometheusRates& traffic,
                           const Watch& watch, MarginLearner* learner, const Clock& clock, const Log& log,
                           SizingLadder::Audit audit)
    : traffic_(traffic),
      watch_(watch),
      requests_(book_of(config, store, clock)),
      sizing_(requests_, config.provision == ProvisionLevel::requests, static_cast<std::uint64_t>(config.seed),
              config.data_dir + "/" + std::string(kSizingFile), clock, log, std::move(audit)),
      replicas_(
          clock, traffic,
          [&watch](const std::string& workload) { return ReplicaOwner::asked(watch.autoscalers(), workload); },
          requests_.on() && config.suggest_replicas && traffic.config().enabled()),
      margins_(config.teacher, static_cast<std::uint64_t>(config.seed), learner, clock, config.teacher_reward) {
  if (requests_.unreadable() > 0)
    log.warn("requests.rows_unreadable",
             "the stored needs of some workloads cannot be read and are learned from scratch",
             {{"rows", requests_.unreadable()}});
}

void Provisioning::described(const kube::Pod& pod) {
  levels_.described(pod);
  requests_.described(pod);
  sizing_.described(pod);
  replicas_.left(pod.uid);
}

void Provisioning::gone(const std::string& uid) {
  levels_.left(uid);
  sizing_.gone(uid);
  replicas_.left(uid);
}

void Provisioning::minute(const std::string& node, const Node* known, const LimitMinute& minute) {
  const bool here = known != nullptr && known->workloads.contains(minute.name);  // a node reports only its own pods
  const ReplicaPlace place = place_of(minute.name, here, requests_, replicas_, watch_.on());
  margins_.minute(node, known != nullptr ? known->values.cpu_cores.value_or(known->hello.cpu_cores) : 0, minute,
                  traffic_of(traffic_, node, minute.name, place), place);
}

Steps Provisioning::tick(const ClusterState& state) {
  return then(then(requests_.tick(state), [this] { return replicas_.tick(requests_.workloads()); }),
              [this] { return sizing_.tick(); });
}

}  // namespace wattle::controller
