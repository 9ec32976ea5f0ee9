// latency_veto: which of a pod's candidates its hard latency limit rules out.
// Source   the controller's document "latency" for the pod's target: p50 per node with fresh telemetry, and whether it may act now
// Rules    a node that is known to be above the limit is vetoed; one of which nothing is known is vetoed only while another is known to be
//          within. No limit, a bound pod, a controller that is away, neutral, or says what makes no sense: all pass.
//          Preemption is judged by the same rule. A node that it accepted for a pod stays accepted for that pod for kPromisedFor while
//          it is the only candidate, as a nominated node is: its victims are gone, and a refusal would repeat the eviction
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
#include <optional>
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
  std::vector<std::string> passed;            // in the order asked
  std::map<std::string, std::string> vetoed;  // node -> why
  // One of few fixed words: "no_limit", "already_bound", "no_candidates", "off", "neutral", "judged", "promised", or what the
  // controller failed with.
  std::string_view reason;
  std::string failure;  // why the controller did not answer; empty when it did or was not asked
};

Veto pass_all(const std::vector<std::string>& candidates, std::string_view reason);

// Longer than victims take to end gracefully.
inline constexpr Duration kPromisedFor = std::chrono::minutes(10);
inline constexpr std::size_t kPromisesKept = 1024;  // pods; the oldest goes first

// The body of the document "latency" of a target.
using LatencyAsker = std::function<Result<std::string>(const std::string& target, std::chrono::milliseconds deadline)>;

class LatencyVeto {
 public:
  // The clock must outlive it.
  LatencyVeto(LatencyAsker asker, const Clock& clock, std::chrono::milliseconds deadline)
      : asker_(std::move(asker)), clock_(clock), deadline_(deadline) {}
  // For the verb filter.
  Veto judge(const wire::Ask& ask);
  // For the verb preempt: the candidates are nodes from which pods would be evicted.
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
    std::unordered_map<std::string, double> p50_ms;  // by node
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
