// owner_patch: a strategic merge patch for the template of a workload's pods, with right-sized requests and replicas,
// for the operator to commit to git. Pure.
// Source   the owner as its API server describes it, and the controller's advice for its workload
// Rules    the advice is for all containers of a pod together: they share it in proportion to their current requests,
//          sidecars included. If all limits equal the requests, they change together; otherwise a limit caps its
//          request, and the other containers get the remainder. An owner whose requests an autoscaler sets, or that it
//          scales by utilisation, gets no patch, and neither does a template with pod-level resources
// Law      a template with the patch applied gets no further patch for the same advice, if its limits exceed a unit
// Errors   denied (an autoscaler, the level of the workload, or pod-level resources), not_found (no suggestion, or the
//          template has it already), malformed (no containers, or several without requests)
// Threads  pure functions
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.hpp"
#include "common/result.hpp"

namespace wattle::cli {

struct OwnerAdvice {
  std::string workload;  // "shop/Deployment/web"
  std::optional<double> cpu_cores, memory_bytes;
  double observed_s = 0;                // observation time behind them
  std::optional<std::size_t> replicas;  // fewer than now; no value: the number stays
  std::string level;                    // `off` or `limits` if all pods have that level
  std::string autoscaler, scaler;       // as in PlanOptions (cli/requests/plan.hpp)
};

struct OwnerPatch {
  OrderedJson patch;
  std::vector<std::string> notes;  // sentences
};

// Returns the API path of the owner; empty for a kind without a template. A Job that does not exist may be a CronJob's:
// its path is that of kind CronJob.
std::string owner_path(std::string_view name_space, std::string_view kind, std::string_view name);

Result<OwnerPatch> owner_patch(const OrderedJson& owner, const OwnerAdvice& advice);

}  // namespace wattle::cli
