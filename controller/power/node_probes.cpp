#include "controller/power/node_probes.hpp"

#include <algorithm>

namespace wattle::controller::power {

void NodeProbes::probe(const Node& node, Kept& kept) {
  kept.last.able.reset();
  Result<Capabilities> able = power_->probe(node, kProbeLimit);
  kept.at = clock_.mono();
  kept.last.problem = able ? "" : "its power driver failed: " + able.error().message();
  if (able) kept.last.able = std::move(*able);
}

void NodeProbes::observe(const Node& node, ProbedNode& last) {
  const Result<Observation> seen = power_->observe(node, kProbeLimit);
  last.observed = seen ? seen->state : PowerState::unknown;
}

std::map<std::string, ProbedNode> NodeProbes::ask(const std::vector<ToProbe>& nodes) {
  const MonoTime begin = clock_.mono();
  std::vector<std::pair<const ToProbe*, Kept*>> due, silent;
  for (const ToProbe& each : nodes) {
    Kept& kept = kept_[each.node.name];
    kept.last.drivers = driver_names(*config_, each.node);
    if (!each.silent) kept.last.observed.reset();
    if (kept.last.drivers.empty()) {
      kept = {};
      kept.last.problem = "sleep.drivers has no power driver for it";
      continue;
    }
    if (!kept.at) kept.last.problem = "its power driver has not been asked yet";
    if (!kept.at || begin - *kept.at >= kProbeEvery) due.emplace_back(&each, &kept);
    if (each.silent) silent.emplace_back(&each, &kept);
  }
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.second->at < b.second->at; });
  std::size_t calls = 0;
  const auto goes_on = [&] { return !stop_ && calls < kMostCalls && clock_.mono() - begin < kRoundTime; };
  for (auto it = due.begin(); it != due.end() && goes_on(); ++it, ++calls) probe(it->first->node, *it->second);
  for (auto it = silent.begin(); it != silent.end() && goes_on(); ++it) {
    if (!it->second->last.able || !it->second->last.able->can_observe) continue;
    observe(it->first->node, it->second->last);
    ++calls;
  }
  std::map<std::string, ProbedNode> out;
  for (const ToProbe& each : nodes) out[each.node.name] = kept_[each.node.name].last;
  // A node that loses its label for a moment is not asked more often.
  std::erase_if(kept_, [&](const auto& item) {
    return !out.contains(item.first) && (!item.second.at || begin - *item.second.at >= kProbeEvery);
  });
  return out;
}

}  // namespace wattle::controller::power
