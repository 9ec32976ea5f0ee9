// saving_metrics: exports the measured effect of canaries and the modelled saving of shadow mode as metrics.
// Format   docs/reference/metrics.md
// Errors   none; an unknown value has no sample
// Threads  single owner
#pragma once

#include "controller/rollout/effect.hpp"
#include "controller/web/metric_families.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::controller {

// `modelled` null: there is no model now.
void add_saving(Families& families, const EffectEstimate& saving, const placement::ModelledSaving* modelled);

}  // namespace wattle::controller
