// saving_json: converts the modelled saving of acting to JSON.
// Format   docs/reference/api.md, policy
// Errors   none
// Threads  pure function
#pragma once

#include "common/json/value.hpp"
#include "controller/rollout/calibration.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::controller {

// `saving` null: decisions act, or there are none. `calibration` without a value: no canary has measured enough.
SortedJson modelled_json(const placement::ModelledSaving* saving, const std::optional<Calibration>& calibration);

}  // namespace wattle::controller
