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

std::optional<std::string> PowerDrain::turn(std::size_t pods) {
  if (!drain_) return std::nullopt;
  if (auto reason = drain_->stopped(clock_.wall(), limits_)) return reason;
  if (chosen_.empty()) {
    // A drain that waits for its limits does not write the ledger each time.
    core::SleepLedger after = records_.ledger();
    core::Drain next = *drain_;
    if (next.next(pods, clock_.wall(), limits_, after).empty()) return std::nullopt;
    chosen_ = drain_->next(pods, clock_.wall(), limits_, records_.change_ledger());
  }
  if (!records_.sums_stored()) return std::nullopt;
  for (core::Move& move : std::exchange(chosen_, {})) actions_.evict(drain_->node(), std::move(move));
  return std::nullopt;
}

void PowerDrain::bound(const std::string& uid, const std::string& name, const std::string& owner,
                       const std::string& node) {
  if (!drain_) return;
  if (node == drain_->node()) return drain_->arrived(name);
  const auto before = drain_->reserved().size();
  drain_->landed(owner, node);
  if (drain_->reserved().size() < before) records_.change_ledger().replaced_by(uid, clock_.wall());
}

void PowerDrain::gone(const std::string& uid) {
  if (drain_) drain_->ended(uid);
}

void PowerDrain::take(const EvictOutcome& outcome) {
  if (!outcome.result) {
    if (const auto count = failures_logged_.note(outcome.node, clock_.mono()))
      log_.warn(
          "sleep.eviction_failed", "a pod of a node that is being emptied cannot be evicted",
          {{"node", outcome.node}, {"pod", outcome.pod.name}, {"error", outcome.result.error()}, {"count", *count}});
  }
  if (!drain_ || drain_->node() != outcome.node) return;
  if (outcome.result && *outcome.result == Evicted::accepted) return;
  drain_->refused(outcome.pod.pod, records_.change_ledger());
  if (outcome.result && *outcome.result == Evicted::gone) drain_->ended(outcome.pod.pod);
}

}  // namespace wattle::controller::power
