#include "controller/power/power_drain.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller::power {

namespace core = placement::sleep;

void PowerDrain::begin(std::string node, std::vector<core::Move> moves) {
  drain_.emplace(std::move(node), std::move(moves));
  chosen_.clear();
}

std::vector<core::Move> PowerDrain::reserved() const { return drain_ ? drain_->reserved() : std::vector<core::Move>(); }

std::optional<std::string> PowerDrain::turn(std::size_t pods, bool held) {
  if (!drain_) return std::nullopt;
  if (auto reason = drain_->stopped(clock_.wall(), limits_)) return reason;
  if (held) return std::nullopt;
  core::MoveLimits limits = limits_;
  limits.at_once -= std::min(limits.at_once, others_.in_flight(clock_.mono()));
  if (chosen_.empty()) {
    // A drain that waits for its limits does not write the ledger each time.
    core::SleepLedger after = records_.ledger();
    core::Drain next = *drain_;
    if (next.next(pods, clock_.wall(), limits, after).empty()) return std::nullopt;
    chosen_ = drain_->next(pods, clock_.wall(), limits, records_.change_ledger());
  }
  if (!records_.sums_stored()) return std::nullopt;
  for (core::Move& move : std::exchange(chosen_, {})) {
    evicted_.insert(move.pod);
    actions_.evict(drain_->node(), std::move(move));
  }
  return std::nullopt;
}

void PowerDrain::bound(const std::string& uid, const std::string& name, const std::string& owner,
                       const std::string& node) {
  if (drain_ && node == drain_->node()) return drain_->arrived(name);
  const std::vector<core::Move> expected = reserved();
  const bool planned = std::any_of(expected.begin(), expected.end(),
                                   [&](const core::Move& move) { return move.owner == owner && move.target == node; });
  if ((!planned && others_.landed(owner)) || !drain_) return;
  const auto before = drain_->reserved().size();
  drain_->landed(owner, node);
  if (drain_->reserved().size() < before) records_.change_ledger().replaced_by(uid, clock_.wall());
}

void PowerDrain::leaves(const kube::Pod& pod, std::optional<bool> evicted_before) {
  if (std::erase_if(chosen_, [&](const core::Move& move) { return move.pod == pod.uid; }) > 0)
    drain_->refused(pod.uid, records_.change_ledger());
  if (drain_) drain_->ended(pod.uid);
  if (!pod.evicted || evicted_before.value_or(false)) return;
  if (evicted_before ? evicted_.contains(pod.uid) : records_.ledger().knows(pod.uid)) return;
  const std::string name = pod.pod_namespace + "/" + pod.name;
  log_.info("sleep.evicted_by_other", "another program evicted a pod; it counts as one of the moves for sleep",
            {{"node", pod.node_name}, {"pod", name}});
  records_.change_ledger().moved(pod.uid, pod.replica_of, clock_.wall());
  others_.add(pod.node_name, name, pod.replica_of, clock_.mono());
}

void PowerDrain::gone(const std::string& uid) {
  evicted_.erase(uid);
  if (drain_) drain_->ended(uid);
}

void PowerDrain::take(const EvictOutcome& outcome) {
  if (!outcome.result) {
    if (const auto count = failures_logged_.note(outcome.node, clock_.mono()))
      log_.warn(
          "sleep.eviction_failed", "a pod of a node that is being emptied cannot be evicted",
          {{"node", outcome.node}, {"pod", outcome.pod.name}, {"error", outcome.result.error()}, {"count", *count}});
  }
  if (outcome.result && *outcome.result == Evicted::accepted) return;
  if (outcome.result) evicted_.erase(outcome.pod.pod);  // after an error it may be evicted
  if (!drain_ || drain_->node() != outcome.node) return;
  drain_->refused(outcome.pod.pod, records_.change_ledger());
  if (outcome.result && *outcome.result == Evicted::gone) drain_->ended(outcome.pod.pod);
}

}  // namespace wattle::controller::power
