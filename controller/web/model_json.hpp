// model_json: the document `models` (docs/reference/api.md).
// Threads  pure
#pragma once

#include <optional>
#include <string>

#include "controller/trainer/model_orders.hpp"

namespace wattle::controller {

// Recent learning figures; no value if nothing was learned yet, or if they are not reported here.
struct LearningFigures {
  std::optional<double> mean_reward, reward_centre, td_error, loss;
};
std::string models_text(const ModelList& list, const LearningFigures& learning = {});

}  // namespace wattle::controller
