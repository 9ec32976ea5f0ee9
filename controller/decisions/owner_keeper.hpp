// owner_keeper: whose each workload is, and when it was placed where and ended, to the store, for `wattle report` and
//               `wattle model record`.
// Cost     a row in the store's queue; nobody waits for the disk
// Errors   none: what the disk does not take is told by the store
// Threads  single owner
#pragma once

#include <string>
#include <string_view>

#include "common/clock.hpp"
#include "common/kube/pod.hpp"
#include "controller/store/store.hpp"
#include "placement/cluster_view.hpp"

namespace wattle::controller {

// Of what an ask calls the application: "ReplicaSet/web-5d9 nginx:1.25" is owned by "ReplicaSet/web-5d9", "shop" by "shop".
std::string_view owner_of_app(std::string_view app);

class OwnerKeeper {
 public:
  // `store` null: nothing is kept.
  OwnerKeeper(Store* store, const Clock& clock) : store_(store), clock_(clock) {}
  // It has been placed now.
  void placed(const placement::PodSpec& pod, const std::string& node);
  // It has ended, or was taken away.
  void left(const placement::PodSpec& pod);
  // An API server has it.
  void described(const kube::Pod& pod);

 private:
  Store* store_;
  const Clock& clock_;
};

}  // namespace wattle::controller
