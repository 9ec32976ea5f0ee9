// saving_json: what acting would save, modelled, as documents tell it.
// Format   docs/reference/api.md, policy
// Errors   none
// Threads  pure function
#pragma once

#include "common/json/value.hpp"
#include "controller/rollout/calibration.hpp"
#include "placement/modelled_saving.hpp"

namespace wattle::controller {

// Null: it acts, or nothing is decided. `calibration` absent: no canary has measured enough.
SortedJson modelled_json(const placement::ModelledSaving* saving, const std::optional<Calibration>& calibration);

}  // namespace wattle::controller
