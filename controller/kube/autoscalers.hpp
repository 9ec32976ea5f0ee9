// autoscalers: whose number of replicas somebody else decides: HorizontalPodAutoscalers, and KEDA's ScaledObjects, of the API server.
// Source   list of /apis/autoscaling/v2/horizontalpodautoscalers and /apis/keda.sh/v1alpha1/scaledobjects each minute, in pages; nothing is
//          written. Without KEDA there are no ScaledObjects (404). The right to list both is an opt-in of the chart: replicas.suggest
// Gives    of a workload, as `wattle provision` names it, who owns its replicas, nobody, or that this is not known. One that scales a kind
//          whose pods nobody can tell (an Argo Rollout, for one) is taken to own all of its namespace
// Bounds   kMostAutoscalers; more is not known
// Errors   none that end it: what is refused, or is no list, makes all unknown at once, with the reason; from a server that is away what was
//          seen stands for five minutes. Told once in ten minutes
// Threads  one of its own; owner_of() and problem() from any
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "common/clock.hpp"
#include "common/kube/http_api.hpp"
#include "common/log.hpp"

namespace wattle::controller {

inline constexpr std::size_t kMostAutoscalers = 20'000;

enum class AutoscalerKind { horizontal, keda };

// To who owns replicas, "HorizontalPodAutoscaler shop/web".
struct ReplicaOwners {
  std::map<std::string, std::string> workloads;   // as `wattle provision` names them
  std::map<std::string, std::string> namespaces;  // of which all are taken to be owned
  std::size_t autoscalers = 0;

  std::string of(const std::string& workload) const;  // empty: nobody
};

// One page of a list, into `out`; gives what the next one goes on from, empty at the end. Errors: malformed.
Result<std::string> read_autoscalers(std::string_view body, AutoscalerKind kind, ReplicaOwners& out);

// All of both lists.
Result<ReplicaOwners> list_autoscalers(kube::Api& api);

// What the last lists said, and for how long that stands.
class KnownOwners {
 public:
  // False: nothing is known for a reason that was not told in the last ten minutes.
  bool take(Result<ReplicaOwners> listed, MonoTime now);
  // Absent: not known; empty: nobody.
  std::optional<std::string> owner_of(const std::string& workload) const;
  const std::string& problem() const { return problem_; }  // why nothing is known; empty: it is

 private:
  std::optional<ReplicaOwners> owners_;
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
