#include "controller/decisions/decision_keeper.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "controller/decisions/decision_row.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kFlushEvery = std::chrono::seconds(1);
constexpr std::size_t kFlushAt = 256;

}  // namespace

void DecisionKeeper::recall(Decider& decider) const {
  const auto& found = store_.decisions_found();
  for (auto row = found.rbegin(); row != found.rend(); ++row) {
    auto entry = parse_decision(*row);
    if (entry)
      decider.recall(std::move(*entry));
    else
      log_.warn("decision.unreadable", "a stored decision cannot be read", {{"error", entry.error()}});
  }
}

Steps DecisionKeeper::take(const DecisionLog& log, const std::set<std::uint64_t>& changed, MonoTime now) {
  if (!store_.on()) return no_steps();
  waiting_.insert(changed.begin(), changed.end());
  // A short log soon drops its oldest entries.
  const std::size_t many = std::min(kFlushAt, log.capacity() / 2);
  if (waiting_.size() >= many || now - flushed_ >= kFlushEvery) return flush(log, now);
  return no_steps();
}

Steps DecisionKeeper::flush(const DecisionLog& log, MonoTime now) {
  flushed_ = now;
  const auto ids = std::make_shared<const std::set<std::uint64_t>>(std::exchange(waiting_, {}));
  return each_of(*ids, [this, &log, ids](std::uint64_t id) {
    if (const LoggedDecision* entry = log.find(id)) store_.keep(decision_row(*entry));
  });
}

}  // namespace wattle::controller
