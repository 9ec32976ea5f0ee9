#include "sim/x8/hindsight.hpp"

#include <utility>

#include "models/frozen/frozen_network.hpp"
#include "placement/planner.hpp"
#include "sim/x8/cluster.hpp"

namespace wattle::sim::x8 {

namespace {

// As the day left them, with the planner's placements.
void take_fitted_curves(const Episode& lived, Episode& record) {
  Cluster cluster(lived);
  placement::Planner planner({});
  for (std::size_t p = 0; p < lived.pods.size(); ++p) {
    cluster.advance_to(lived.pods[p].arrives_s);
    if (const auto node = planner.choose(cluster.fleet(), cluster.ask(p))) cluster.place(p, *node);
  }
  for (std::size_t i = 0; i < record.servers.size(); ++i) record.servers[i].watts = cluster.fleet().nodes[i].watts;
}

}  // namespace

Episode recorded(const Episode& lived) {
  Episode record = lived;
  record.options.shift = {};
  if (lived.options.knowledge == Knowledge::production) take_fitted_curves(lived, record);
  return record;
}

Result<Hindsight> learn_by_hindsight(std::span<const Episode> lived,
                                     const std::shared_ptr<const models::QNetwork>& start,
                                     const HindsightOptions& options, models::PolicyTrainer& trainer) {
  if (lived.size() < 2)
    return fail(Errc::out_of_range, "hindsight", "has no day left to judge what was learned", "at least two days");
  std::vector<Label> labels, held_out;
  for (std::size_t day = 0; day < lived.size(); ++day) {
    const bool last = day + 1 == lived.size();
    LabelOptions wanted = options.labels;
    if (last) wanted.per_episode *= lived.size() - 1;  // as many to judge by as to learn from
    std::vector<Label> judged = judge_episode(recorded(lived[day]), wanted, start);
    std::vector<Label>& into = last ? held_out : labels;
    std::move(judged.begin(), judged.end(), std::back_inserter(into));
  }
  ImitateOptions imitation = options.imitate;
  imitation.anchor = start;
  Hindsight out;
  out.labels = labels.size();
  if (!labels.empty()) WATTLE_CHECK(imitate(labels, imitation, trainer));
  out.weights = trainer.weights();
  WATTLE_TRY(const auto learned, models::FrozenNetwork::from_weights(out.weights, trainer.steps()));
  const models::QNetwork* serving = start.get();
  out.serves = Serves::start;
  const models::QNetwork* const candidate = learned.get();
  if (promote(held_out, serving, std::span(&candidate, 1)).candidate) {
    serving = candidate;
    out.serves = Serves::learned;
  }
  if (!promote(held_out, nullptr, std::span(&serving, 1)).candidate) out.serves = Serves::planner;
  return out;
}

}  // namespace wattle::sim::x8
