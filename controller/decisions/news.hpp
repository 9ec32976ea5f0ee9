// news: what deciding tells learning.
// Threads  values
#pragma once

#include <array>
#include <cstdint>
#include <variant>

#include "common/clock.hpp"
#include "models/frozen/q_network.hpp"
#include "placement/off_policy.hpp"
#include "placement/reward.hpp"

namespace wattle::controller {

// The pod of a decision really is on the node of this row.
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
// No telemetry told what became of it.
struct LostNews {
  std::uint64_t decision_id = 0;
};
// From here on outcomes are judged by this one, those of before too.
struct RewardNews {
  placement::RewardConfig reward;
};
// The world has changed: newer experience counts more, for a while.
struct DriftNews {
  MonoTime since{}, until{};
};
// What the ranking in force is worth beside its references, as it stands.
struct ComparedNews {
  std::array<placement::OffPolicyEstimate, placement::kReferencePolicies.size()> estimates;
};
using LearningNews = std::variant<PlacedNews, SettledNews, LostNews, RewardNews, DriftNews, ComparedNews>;

}  // namespace wattle::controller
