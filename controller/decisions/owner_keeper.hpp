// owner_keeper: stores the owner of each workload and its placements and ends, for `wattle report` and `wattle model
// record`.
// Cost     a row in the store's queue; no caller waits for the disk
// Errors   none: the store logs failed writes
// Threads  single owner
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "controller/store/store.hpp"
#include "placement/cluster/cluster_view.hpp"

namespace wattle::controller {

// Returns the owner part of an ask's application name: "ReplicaSet/web-5d9 nginx:1.25" is owned by
// "ReplicaSet/web-5d9", "shop" by "shop".
std::string_view owner_of_app(std::string_view app);

// Returns the row of a pod that runs on `node` since `placed_s`, by the wall clock.
PodFacts facts_of_placed(const placement::PodSpec& pod, const std::string& node, std::int64_t placed_s);

class OwnerKeeper {
 public:
  OwnerKeeper(Store& store, const Clock& clock) : store_(store), clock_(clock) {}
  // Records that the pod was placed just now.
  void placed(const placement::PodSpec& pod, const std::string& node);
  // Records that the pod ended or was removed.
  void left(const placement::PodSpec& pod);
  // Records the pod as the API server describes it.
  void described(const kube::Pod& pod);

 private:
  Store& store_;
  const Clock& clock_;
};

}  // namespace wattle::controller
