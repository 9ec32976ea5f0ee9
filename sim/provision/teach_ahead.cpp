// teach_ahead: trains the teacher by lookahead: each minute is labelled with the cost of every action. The prior drives
// first, then the network learned so far, with random actions in between; all minutes so far are used for learning.
#include <algorithm>
#include <vector>

#include "models/frozen/frozen_network.hpp"
#include "sim/provision/teach.hpp"

namespace wattle::sim::provision {

namespace {

namespace choice = models::provision;

constexpr std::uint64_t kAheadStream = 0x6168656164ULL;

struct JudgedMinute {
  models::Observation state;
  std::vector<std::uint32_t> tried;
  std::vector<float> reward;  // per tried action, minus their mean; over all simulated minutes
};

std::optional<JudgedMinute> judged(models::Observation state, const ActionCosts& costs, double minutes) {
  JudgedMinute minute;
  double sum = 0;
  for (std::size_t i = 0; i < choice::kActions; ++i) {
    if (!costs[i]) continue;
    minute.tried.push_back(static_cast<std::uint32_t>(i));
    sum += *costs[i];
  }
  if (minute.tried.size() < 2) return std::nullopt;
  const double mean = sum / static_cast<double>(minute.tried.size());
  for (const std::uint32_t action : minute.tried)
    minute.reward.push_back(static_cast<float>(minutes * (mean - *costs[action])));
  minute.state = std::move(state);
  return minute;
}

}  // namespace

Result<Taught> teach_by_lookahead(const TeachOptions& options, const LookaheadLessons& lessons,
                                  models::QTrainer& trainer, const Progress& progress) {
  Random random(mix(options.seed, kAheadStream));
  std::vector<JudgedMinute> minutes;
  std::vector<double> costs;
  std::shared_ptr<const models::QNetwork> network;
  const Choose choose = [&](std::size_t, const MinuteOfService& seen, const ActionCosts& told) {
    Asked asked = ask_teacher(seen);
    const std::size_t action = uniform(random) < lessons.explore
                                   ? any_action(asked.observation, random)
                                   : choice::best_action(asked.observation, network.get());
    costs.push_back(seen.cost);
    if (auto minute = judged(std::move(asked.observation), told, static_cast<double>(lessons.look.minutes)))
      minutes.push_back(std::move(*minute));
    return action;
  };
  Taught taught;
  std::size_t hour = 0;
  std::vector<models::Transition> batch(options.batch);
  std::vector<const models::Transition*> borrowed;
  for (const models::Transition& each : batch) borrowed.push_back(&each);
  for (std::size_t round = 0; round < lessons.rounds; ++round) {
    for (; hour < options.hours * (round + 1) / lessons.rounds; ++hour) {
      progress(static_cast<double>(hour) / static_cast<double>(options.hours), "teacher");
      WATTLE_CHECK(play_looking_ahead(learning_world(options, hour), options.steer, lessons.look, choose));
    }
    if (minutes.empty()) continue;
    for (std::size_t step = 0; step < lessons.steps_per_round; ++step) {
      for (models::Transition& each : batch) {
        const JudgedMinute& minute = minutes[pick(random, minutes.size())];
        const std::size_t tried = pick(random, minute.tried.size());
        each.state = minute.state;
        each.action = minute.tried[tried];
        each.reward = minute.reward[tried];
      }
      WATTLE_CHECK(trainer.step(borrowed));
      ++taught.steps;
    }
    WATTLE_TRY(network, models::FrozenNetwork::from_weights(trainer.weights(), trainer.steps()));
  }
  taught.weights = trainer.weights();
  taught.minutes = costs.size();
  taught.tell_costs(costs);
  return taught;
}

}  // namespace wattle::sim::provision
