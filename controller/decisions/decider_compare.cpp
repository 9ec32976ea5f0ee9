// What the decider makes of decisions afterwards: would a rival have chosen better, how far was the reward from Q.
#include <utility>

#include "controller/decisions/decider.hpp"

namespace wattle::controller {

namespace {
constexpr std::int64_t kPartOfTime = 500;  // asks wait while it compares: one part in so many
}

// One decision a second at most, off the way of answers: what the ranking in force and its rivals would choose now.
void Decider::compare(MonoTime now) {
  const ToCompare what = std::move(*to_compare_);
  to_compare_.reset();
  const auto network = networks_.get();
  placement::DecideOptions greedy = options_;
  greedy.epsilon = 0;
  const placement::ClusterView& view = state_.view(what.spec, now);
  const auto choice = [&](const placement::Mind& mind) -> std::optional<RankedChoice> {
    const placement::Advice advice =
        placement::decide(view, what.spec, what.candidates, mind, greedy, figures_.decisions, compare_random_);
    if (!advice.top) return std::nullopt;
    return RankedChoice{advice.record.advice, advice.predictions[advice.row_of[*advice.top]].value()};
  };
  RivalSample sample;
  sample.decision_id = what.id;
  auto own = choice(mind(usable(network)));
  if (!own) return;
  sample.own = std::move(*own);
  for (std::size_t i = 0; i < kRivals.size(); ++i) {
    auto rival = choice({*rival_policies_[i], nullptr, &knowledge_, &index_});
    if (!rival) return;
    sample.rivals[i] = std::move(*rival);
  }
  rivals_.add(std::move(sample));
  const MonoTime done = clock_.mono();
  compare_after_ = done + kPartOfTime * (done - now);
}

void Decider::judge(std::uint64_t id, const std::string& node, double reward) {
  rivals_.judged(id, node, reward);
  const LoggedDecision* entry = log_.find(id);
  if (entry == nullptr) return;
  for (const wire::Candidate& candidate : entry->decision.candidates)
    if (candidate.node == node && candidate.masked.empty()) return q_error_.add(node, reward - candidate.q);
}

}  // namespace wattle::controller
