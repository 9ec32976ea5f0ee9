// model_json: the document `models` (docs/reference/api.md).
// Threads  pure
#pragma once

#include <optional>
#include <span>
#include <string>

#include "controller/trainer/model_orders.hpp"
#include "placement/judge/off_policy.hpp"

namespace wattle::controller {

// Recent learning figures; no value if nothing was learned yet, or if they are not reported here.
struct LearningFigures {
  std::optional<double> mean_reward, reward_centre, td_error, loss;
};
// `compared`: the ranking in force and its references; empty if not reported here.
std::string models_text(const ModelList& list, std::span<const placement::OffPolicyEstimate> compared = {},
                        const LearningFigures& learning = {});

}  // namespace wattle::controller
