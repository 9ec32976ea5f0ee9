// latency_veto: vetoes a pod's candidates that exceed its hard latency limit.
// Source   the controller's document "latency" for the pod's target: p50 per node with fresh telemetry, and whether it
//          may act now
// Rules    a node known to be above the limit is vetoed; a node without data is vetoed only while another is known to
//          be within the limit. All nodes pass without a limit, for a bound pod, and if the controller is unavailable,
//          neutral or malformed. Preemption uses the same rule. After preemption has accepted a node for a pod, the
//          node passes for kPromisedFor while it is the pod's only candidate, as a nominated node is: its victims are
//          gone, and a veto would repeat the eviction
// Units    milliseconds
// Errors   none
// Threads  any
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/clock.hpp"
#include "common/result.hpp"
#include "common/wire/messages.hpp"

namespace wattle::shim {

struct Veto {
  std::vector<std::string> passed;            // same order as the candidates
  std::map<std::string, std::string> vetoed;  // node -> reason
  // Fixed word: "no_limit", "already_bound", "no_candidates", "off", "neutral", "judged", "promised", or the Errc with
  // which the controller failed.
  std::string_view reason;
  std::string failure;  // why the controller did not answer; empty if it did or was not asked
};

Veto pass_all(const std::vector<std::string>& candidates, std::string_view reason);

// Longer than victims need to terminate gracefully.
inline constexpr Duration kPromisedFor = std::chrono::minutes(10);
inline constexpr std::size_t kPromisesKept = 1024;  // pods; drops the oldest first

// Returns the body of the document "latency" for a target.
using LatencyAsker = std::function<Result<std::string>(const std::string& target, std::chrono::milliseconds deadline)>;

class LatencyVeto {
 public:
  // The clock must outlive this object.
  LatencyVeto(LatencyAsker asker, const Clock& clock, std::chrono::milliseconds deadline)
      : asker_(std::move(asker)), clock_(clock), deadline_(deadline) {}
  // Judges a request of the verb filter.
  Veto judge(const wire::Ask& ask);
  // Judges a request of the verb preempt: the candidates are nodes from which pods would be evicted.
  Veto judge_preemption(const wire::Ask& ask);

 private:
  struct Promise {
    std::string pod_uid;
    std::unordered_set<std::string> nodes;
    MonoTime until{};
  };
  Veto judge_by_limit(const wire::Ask& ask);
  bool promised(const wire::Ask& ask);
  struct Known {
    std::string target;
    MonoTime at{};
    bool acting = false;
    std::unordered_map<std::string, double> p50_ms;  // keyed by node name
  };
  Result<std::shared_ptr<const Known>> known(const std::string& target);
  static Result<std::shared_ptr<const Known>> read(const std::string& target, const std::string& body, MonoTime now);

  const LatencyAsker asker_;
  const Clock& clock_;
  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;  // guards the members below
  std::deque<std::shared_ptr<const Known>> kept_;
  std::deque<Promise> promises_;  // oldest first
};

}  // namespace wattle::shim
