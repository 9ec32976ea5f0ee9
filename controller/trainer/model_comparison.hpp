// model_comparison: compares a kept network with the one that serves, on the decisions that the learner replays.
// Text     JSON (docs/reference/api.md, models)
// Errors   unavailable (no network serves), conflict (another prior), not_found (no decisions), those of the network
// Threads  the trainer's
#pragma once

#include <string>

#include "controller/trainer/model_orders.hpp"
#include "controller/trainer/serving_model.hpp"
#include "placement/learn/learner.hpp"

namespace wattle::controller {

// `on_prior`: whether the output of the network adds to the prior. `serving`: what serves now.
Result<std::string> compare_models(const std::string& name, const models::LoadedCheckpoint& loaded, bool on_prior,
                                   const ServingNow& now, const ServingModel::Network& serving,
                                   const placement::Learner& learner);

}  // namespace wattle::controller
