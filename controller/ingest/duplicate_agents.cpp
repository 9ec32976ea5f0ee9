#include "controller/ingest/duplicate_agents.hpp"

#include <algorithm>
#include <utility>

namespace wattle::controller {
namespace {

constexpr Duration kTakeoverWindow = std::chrono::seconds(60);
constexpr Duration kCutFor = std::chrono::seconds(60);
constexpr std::size_t kMaxTakeovers = 6;
constexpr Duration kCutForAtMost = std::chrono::seconds(600);
constexpr Duration kConflictLasts = std::chrono::seconds(600);
constexpr std::size_t kKnocks = 3;

void forget_before(std::vector<MonoTime>& times, MonoTime since) {
  std::erase_if(times, [&](MonoTime when) { return when < since; });
}

}  // namespace

bool DuplicateAgents::is_cut(const std::string& node) {
  const auto found = seen_.find(node);
  if (found == seen_.end() || !found->second.cut_until) return false;
  if (clock_.mono() < *found->second.cut_until) return true;
  found->second.cut_until.reset();
  return false;
}

// A takeover by a higher incarnation counts only if a lower one still sends.
bool DuplicateAgents::take_over(const std::string& node, bool equals) {
  Seen& seen = seen_[node];
  const MonoTime now = clock_.mono();
  forget_before(seen.knocks, now - kConflictLasts);
  if (!equals && seen.knocks.empty()) return false;
  forget_before(seen.takeovers, now - kTakeoverWindow);
  seen.takeovers.push_back(now);
  if (seen.takeovers.size() <= kMaxTakeovers) return false;
  const bool again = seen.conflict_at && now - *seen.conflict_at < 2 * kConflictLasts;
  seen.cut_for = again ? std::min(2 * seen.cut_for, kCutForAtMost) : kCutFor;
  seen.cut_until = now + seen.cut_for;
  seen.conflict_at = now;
  seen.takeovers.clear();
  ++found_;
  log_.error("agent.duplicate_cut",
             "two agents with the same key replace each other; the controller rejects both for a while",
             {{"node", node}, {"for_s", wattle::seconds(seen.cut_for)}});
  return true;
}

// A single knock may come from an agent that was just restarted; several mean a second agent.
void DuplicateAgents::knock(const std::string& node) {
  Seen& seen = seen_[node];
  const MonoTime now = clock_.mono();
  forget_before(seen.knocks, now - kConflictLasts);
  if (seen.knocks.empty()) seen.knocks_reported = false;
  seen.knocks.push_back(now);
  if (seen.knocks.size() < kKnocks) return;
  seen.conflict_at = now;
  if (std::exchange(seen.knocks_reported, true)) return;
  ++found_;
  log_.error("agent.duplicate", "two agents use the same key; the controller accepts the one that started later",
             {{"node", node}});
}

std::vector<std::string> DuplicateAgents::conflicts() const {
  std::vector<std::string> nodes;
  for (const auto& [node, seen] : seen_)
    if (seen.conflict_at && clock_.mono() - *seen.conflict_at < kConflictLasts) nodes.push_back(node);
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

}  // namespace wattle::controller
