// model_json: the document `models` (docs/reference/api.md).
// Threads  pure
#pragma once

#include <span>
#include <string>

#include "controller/trainer/model_orders.hpp"
#include "placement/off_policy.hpp"

namespace wattle::controller {

// `compared`: the ranking in force beside its references; empty: not told here.
std::string models_text(const ModelList& list, std::span<const placement::OffPolicyEstimate> compared = {});

}  // namespace wattle::controller
