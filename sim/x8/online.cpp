#include "sim/x8/online.hpp"

#include <algorithm>
#include <cmath>
#include <deque>

#include "models/frozen/frozen_network.hpp"
#include "models/frozen/policy_anchor.hpp"
#include "placement/policies/network.hpp"
#include "sim/random.hpp"
#include "sim/x8/cluster.hpp"

namespace wattle::sim::x8 {

namespace {

constexpr std::uint64_t kRefreshEvery = 50;  // decisions between frozen networks
constexpr double kMemory = 500;              // decisions of the running mean of watts

struct Moment {
  models::Observation state;
  std::uint32_t action = 0;
  float reward = 0;
  bool last = false;  // nothing follows
};

class Online {
 public:
  Online(const OnlineOptions& options, models::PolicyTrainer& trainer)
      : options_(options), trainer_(trainer), random_(mix(options.first_seed, 0x6f6e6c696e65ULL)) {}

  Status play(const Episode& episode) {
    Cluster cluster(episode);
    placement::Planner planner({});
    placement::ClusterView scratch;
    double mean_w = 0, before_j = 0, before_s = 0;
    bool open = false;  // a moment waits for its reward
    for (std::size_t p = 0; p < episode.pods.size(); ++p) {
      const double now_s = episode.pods[p].arrives_s;
      cluster.advance_to(now_s);
      const double energy_j = cluster.energy_j();
      if (open && now_s > before_s) {
        const double watts = (energy_j - before_j) / (now_s - before_s);
        mean_w += (watts - mean_w) / std::min(kMemory, static_cast<double>(p));
        Moment& moment = moments_.back();
        const double w0 = std::max(std::exp2(8 * static_cast<double>(moment.state.pod[12])) - 1, 1e-3);
        const double running = std::max(1.0, options_.episode.churn_fill * episode.total_cores());
        moment.reward = static_cast<float>((mean_w - watts) / (w0 * running));
        before_j = energy_j;
        before_s = now_s;
      }
      const placement::PodEstimate ask = cluster.ask(p);
      auto asked = options_.plan ? placement::observe_planned(planner, cluster.fleet(), ask, scratch)
                                 : placement::observe_unplanned(cluster.fleet(), ask, scratch);
      WATTLE_TRY(const auto chosen, choose(asked));
      if (!chosen) continue;
      if (!open) {
        before_j = energy_j;
        before_s = now_s;
      }
      open = true;
      moments_.push_back({std::move(asked.observation), static_cast<std::uint32_t>(*chosen), 0, false});
      if (moments_.size() > options_.replay) moments_.pop_front();
      cluster.place(p, *chosen);
      ++figures_.decisions;
      WATTLE_CHECK(step());
    }
    if (!moments_.empty()) moments_.back().last = true;
    return {};
  }

  const OnlineFigures& figures() const { return figures_; }

 private:
  Result<std::optional<std::size_t>> choose(const placement::PlannedAsk& asked) {
    if (figures_.decisions % kRefreshEvery == 0) {
      WATTLE_TRY(network_, models::FrozenNetwork::from_weights(trainer_.weights(), trainer_.steps()));
    }
    std::vector<std::size_t> valid;
    for (std::size_t i = 0; i < asked.observation.nodes; ++i)
      if (asked.observation.valid[i] != 0) valid.push_back(i);
    if (valid.empty()) return std::optional<std::size_t>();
    if (uniform(random_) < options_.epsilon) return std::optional(valid[pick(random_, valid.size())]);
    std::vector<float> residual(asked.observation.nodes);
    network_->residual(asked.observation, residual);
    return placement::best_node(asked.observation, residual, asked.plan.pick, 0);
  }

  // The transition that begins at `at`; false where an episode ends within its steps.
  bool transition(std::size_t at, models::Transition& out) const {
    const double discount = 1 - 1 / options_.horizon;
    double sum = 0, weight = 1;
    for (std::size_t k = at; k < at + options_.n_step; ++k, weight *= discount) {
      if (moments_[k].last) return false;
      sum += weight * static_cast<double>(moments_[k].reward);
    }
    out.state = moments_[at].state;
    out.action = moments_[at].action;
    out.reward = static_cast<float>(sum);
    out.discount = static_cast<float>(weight);
    out.next = moments_[at + options_.n_step].state;
    return true;
  }

  Status step() {
    if (moments_.size() < options_.warmup + options_.n_step) return {};
    std::vector<models::Transition> batch;
    while (batch.size() < options_.batch) {
      models::Transition drawn;
      // The newest has no reward yet.
      if (transition(pick(random_, moments_.size() - options_.n_step - 1), drawn)) batch.push_back(std::move(drawn));
    }
    std::vector<const models::Transition*> pointers;
    pointers.reserve(batch.size());
    for (const models::Transition& each : batch) pointers.push_back(&each);
    WATTLE_TRY(const models::StepStats stats, trainer_.step(pointers));
    figures_.steps = stats.step;
    figures_.loss += 0.01 * (stats.loss - figures_.loss);
    figures_.mean_q += 0.01 * (stats.mean_q - figures_.mean_q);
    const bool held = options_.anchor && figures_.decisions % options_.anchor_every == 0;
    return held ? hold_to_anchor(batch) : Status{};
  }

  Status hold_to_anchor(const std::vector<models::Transition>& batch) {
    const std::vector<models::PolicyExample> examples =
        models::policy_anchor(*options_.anchor, batch, options_.temperature);
    std::vector<const models::PolicyExample*> pointers;
    pointers.reserve(examples.size());
    for (const models::PolicyExample& each : examples) pointers.push_back(&each);
    WATTLE_TRY(const models::PolicyStats stats, trainer_.imitate(pointers, options_.temperature));
    figures_.steps = stats.step;
    return {};
  }

  const OnlineOptions& options_;
  models::PolicyTrainer& trainer_;
  Random random_;
  std::deque<Moment> moments_;
  std::shared_ptr<const models::FrozenNetwork> network_;
  OnlineFigures figures_;
};

}  // namespace

Result<OnlineFigures> learn_online(const Dataset& data, const OnlineOptions& options, models::PolicyTrainer& trainer) {
  if (!options.episode.churn)
    return fail(Errc::out_of_range, "online learning", "needs pods that come and go", "churn");
  Online online(options, trainer);
  for (std::size_t e = 0; e < options.episodes; ++e)
    WATTLE_CHECK(online.play(make_episode(data, options.episode, options.first_seed + options.seed_step * e)));
  return online.figures();
}

}  // namespace wattle::sim::x8
