#include "controller/decisions/decision_keeper.hpp"

#include <algorithm>
#include <utility>

#include "controller/decisions/decision_row.hpp"

namespace wattle::controller {
namespace {

constexpr Duration kFlushEvery = std::chrono::seconds(1);
constexpr std::size_t kFlushAt = 256;
constexpr std::size_t kBreatheEachRows = 32;

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

void DecisionKeeper::take(const DecisionLog& log, const std::set<std::uint64_t>& changed, MonoTime now,
                          const std::function<void()>& breathe) {
  if (!store_.on()) return;
  waiting_.insert(changed.begin(), changed.end());
  // A short log soon drops its oldest entries.
  const std::size_t many = std::min(kFlushAt, log.capacity() / 2);
  if (waiting_.size() >= many || now - flushed_ >= kFlushEvery) flush(log, now, breathe);
}

void DecisionKeeper::flush(const DecisionLog& log, MonoTime now, const std::function<void()>& breathe) {
  flushed_ = now;
  std::size_t done = 0;
  for (const std::uint64_t id : std::exchange(waiting_, {})) {
    if (const LoggedDecision* entry = log.find(id)) store_.keep(decision_row(*entry));
    if (++done % kBreatheEachRows == 0) breathe();
  }
}

}  // namespace wattle::controller
