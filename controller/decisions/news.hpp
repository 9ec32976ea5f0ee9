// news: messages from the decider to the trainer.
// Threads  values
#pragma once

#include <cstdint>
#include <variant>

#include "common/clock.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/worth/reward.hpp"

namespace wattle::controller {

// The pod of a decision has started on the node of this row.
struct PlacedNews {
  std::uint64_t decision_id = 0;
  models::Observation observation;
  std::uint32_t action = 0;
  MonoTime when{};
};
struct SettledNews {
  std::uint64_t decision_id = 0;
  placement::RawOutcome outcome;
};
// No telemetry reported the outcome of the decision.
struct LostNews {
  std::uint64_t decision_id = 0;
};
// This configuration now rewards all outcomes, earlier ones included.
struct RewardNews {
  placement::RewardConfig reward;
};
using LearningNews = std::variant<PlacedNews, SettledNews, LostNews, RewardNews>;

}  // namespace wattle::controller
