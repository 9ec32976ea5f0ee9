#include "sim/x8/hindsight.hpp"

#include <algorithm>
#include <utility>

#include "models/frozen/frozen_network.hpp"
#include "placement/network_rule.hpp"
#include "placement/planner.hpp"
#include "sim/random.hpp"
#include "sim/statistics.hpp"
#include "sim/x8/bench.hpp"
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

struct GateEnergies {
  std::vector<double> planner_j, start_j, learned_j;  // of each day played
};

GateEnergies play_gate(std::span<const Episode> days, const std::shared_ptr<const models::QNetwork>& start,
                       const std::shared_ptr<const models::QNetwork>& learned, const HindsightOptions& options) {
  GateEnergies out;
  for (const Episode& lived : days) {
    const Episode record = recorded(lived);
    for (std::uint64_t order = 0; order < options.orders; ++order) {
      const Episode day = reordered(record, order);
      placement::Planner planner({});
      out.planner_j.push_back(run(day, planner).energy_j);
      placement::NetworkRuleOptions played;
      played.margin = options.margin;
      placement::NetworkRule by_start(start, played), by_learned(learned, played);
      out.start_j.push_back(run(day, by_start).energy_j);
      out.learned_j.push_back(run(day, by_learned).energy_j);
    }
  }
  return out;
}

}  // namespace

Episode recorded(const Episode& lived) {
  Episode record = lived;
  record.options.shift = {};
  if (lived.options.knowledge == Knowledge::production) {
    take_fitted_curves(lived, record);
    record.options.knowledge = Knowledge::pods;  // the model's curves are known: they are not fitted again
  }
  return record;
}

Episode reordered(const Episode& day, std::uint64_t order) {
  Episode other = day;
  if (order == 0) return other;
  other.seed = mix(day.seed, order);
  Random random(mix(other.seed, 0x6f72646572ULL));
  for (std::size_t k = other.pods.size(); k > 1; --k) {
    Pod &a = other.pods[k - 1], &b = other.pods[pick(random, k)];
    std::swap(a, b);
    std::swap(a.arrives_s, b.arrives_s);
  }
  return other;
}

Result<Hindsight> learn_by_hindsight(std::span<const Episode> lived,
                                     const std::shared_ptr<const models::QNetwork>& start,
                                     const HindsightOptions& options, models::PolicyTrainer& trainer) {
  if (lived.size() < 2)
    return fail(Errc::out_of_range, "hindsight", "has no day left to judge what was learned", "at least two days");
  const std::size_t gate_days = std::max<std::size_t>(1, lived.size() / 4);
  const auto taught = lived.first(lived.size() - gate_days), judged = lived.last(gate_days);
  std::vector<Label> labels;
  for (const Episode& day : taught) {
    std::vector<Label> more = judge_episode(recorded(day), options.labels, start);
    std::move(more.begin(), more.end(), std::back_inserter(labels));
  }
  ImitateOptions imitation = options.imitate;
  imitation.anchor = start;
  Hindsight out;
  out.labels = labels.size();
  if (!labels.empty()) WATTLE_CHECK(imitate(labels, imitation, trainer));
  out.weights = trainer.weights();
  WATTLE_TRY(std::shared_ptr<const models::QNetwork> learned,
             models::FrozenNetwork::from_weights(out.weights, trainer.steps()));
  const GateEnergies energies = play_gate(judged, start, learned, options);
  out.learned_over_start = paired_ratio(energies.learned_j, energies.start_j);
  out.learned_over_planner = paired_ratio(energies.learned_j, energies.planner_j);
  out.start_over_planner = paired_ratio(energies.start_j, energies.planner_j);
  const bool start_may = out.start_over_planner.below_zero();
  if (out.learned_over_planner.below_zero() && (out.learned_over_start.below_zero() || !start_may))
    out.serves = Serves::learned;
  else if (start_may)
    out.serves = Serves::start;
  return out;
}

}  // namespace wattle::sim::x8
