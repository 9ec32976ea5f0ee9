// saving_metrics: what a canary measured and what shadow models, as metrics.
// Format   docs/reference/metrics.md
// Errors   none; what is not known has no sample
// Threads  single owner
#pragma once

#include "controller/rollout/calibration.hpp"
#include "controller/rollout/effect.hpp"
#include "controller/web/metric_families.hpp"
#include "placement/modelled_saving.hpp"

namespace wattle::controller {

// `modelled`: null where nothing is. `calibration` absent: no canary has measured enough.
void add_saving(Families& families, const EffectEstimate& saving, const placement::ModelledSaving* modelled,
                const std::optional<Calibration>& calibration);

}  // namespace wattle::controller
