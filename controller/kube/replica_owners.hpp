// replica_owners: finds the autoscaler that owns the number of a workload's replicas.
// Source   the lists of common/kube/autoscalers.hpp of all namespaces, each minute. The right to list them is opt-in in
//          the chart: replicas.suggest
// Gives    for a workload as `wattle provision` names it: the owner of its replicas, that it has no owner, or that the
//          owner is unknown
// Errors   none are fatal: a refused or invalid list makes all owners unknown at once, with the reason. If the server
//          cannot be reached, the last lists stay valid for five minutes. Logged once in ten minutes
// Threads  runs its own thread; owner_of() and problem() from any
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/clock.hpp"
#include "common/kube/autoscalers.hpp"
#include "common/kube/http_api.hpp"
#include "common/log.hpp"

namespace wattle::controller {

// The last lists, and how long they stay valid.
class KnownOwners {
 public:
  // Returns false if the owners are unknown for a reason that was not logged in the last ten minutes.
  bool take(Result<kube::AutoscalerLists> listed, MonoTime now);
  // No value if unknown; empty if it has no owner.
  std::optional<std::string> owner_of(const std::string& workload) const;
  const std::string& problem() const { return problem_; }  // why the owners are unknown; empty if they are known

 private:
  std::optional<kube::AutoscalerLists> owners_;
  MonoTime listed_{};
  std::optional<MonoTime> reported_;
  std::string problem_ = "autoscalers have not been listed yet";
};

class Autoscalers {
 public:
  Autoscalers(const kube::ApiServer& server, const Clock& clock, const Log& log);
  ~Autoscalers();

  // Same as in KnownOwners.
  std::optional<std::string> owner_of(const std::string& workload) const;
  std::string problem() const;

 private:
  void look(const std::stop_token& stop);

  const Clock& clock_;
  const Log& log_;
  kube::HttpApi api_;
  mutable std::mutex mutex_;
  KnownOwners known_;  // guarded by mutex_
  std::jthread thread_;
};

}  // namespace wattle::controller
