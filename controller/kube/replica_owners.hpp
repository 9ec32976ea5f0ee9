// replica_owners: follows which autoscaler owns the number of a workload's replicas.
// Source   the lists of common/kube/autoscalers.hpp of all namespaces, each minute. The right to list them is an opt-in of the chart:
//          replicas.suggest
// Gives    for a workload, as `wattle provision` names it, the owner of its replicas, that there is none, or that this is not known
// Errors   none that end it: what is refused, or is no list, makes all unknown at once, with the reason; what was seen stands for five minutes
//          while the server is away. Logged once in ten minutes
// Threads  one of its own; owner_of() and problem() from any
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/clock.hpp"
#include "common/kube/autoscalers.hpp"
#include "common/kube/http_api.hpp"
#include "common/log.hpp"

namespace wattle::controller {

// What the last lists said, and for how long that stands.
class KnownOwners {
 public:
  // False: nothing is known for a reason that was not told in the last ten minutes.
  bool take(Result<kube::AutoscalerLists> listed, MonoTime now);
  // Absent: not known; empty: nobody.
  std::optional<std::string> owner_of(const std::string& workload) const;
  const std::string& problem() const { return problem_; }  // why nothing is known; empty: it is

 private:
  std::optional<kube::AutoscalerLists> owners_;
  MonoTime listed_{};
  std::optional<MonoTime> told_;
  std::string problem_ = "the API server has not been asked yet";
};

class Autoscalers {
 public:
  Autoscalers(const kube::ApiServer& server, const Clock& clock, const Log& log);
  ~Autoscalers();

  // As KnownOwners.
  std::optional<std::string> owner_of(const std::string& workload) const;
  std::string problem() const;

 private:
  void run();
  void look();

  const Clock& clock_;
  const Log& log_;
  kube::HttpApi api_;
  std::thread thread_;

  mutable std::mutex mutex_;  // all below
  std::condition_variable wake_;
  bool stop_ = false;
  KnownOwners known_;
};

}  // namespace wattle::controller
