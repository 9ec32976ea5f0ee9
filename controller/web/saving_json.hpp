// saving_json: the saving, as text, JSON and metrics.
// Format   docs/reference/api.md, policy; docs/reference/metrics.md
// Units    ratios of energy and watts; positive values are saved
// Errors   none
// Threads  pure functions
#pragma once

#include <optional>
#include <string>

#include "common/json/value.hpp"
#include "common/stats/interval.hpp"
#include "controller/parts.hpp"
#include "controller/rollout/calibration.hpp"
#include "controller/rollout/effect.hpp"
#include "controller/tariff.hpp"
#include "controller/web/metric_families.hpp"
#include "controller/web/sleep_levers.hpp"
#include "placement/judge/modelled_saving.hpp"

namespace wattle::controller {

// The saving that page, command line and metrics show: corrected by canaries where there are any. Its interval is a
// prediction interval, which is wider than the interval of the model's own time.
struct ShownSaving {
  stats::Interval ratio;  // share of the energy under the default scheduler; low and high ascend
  double default_w = 0;   // modelled power with the default scheduler's choices
  double default_wait_ratio = 0, acting_wait_ratio = 0;
  double asleep_w = 0;  // part of it: nodes that sleep, while Wattle acts; the default scheduler's are all awake
  std::optional<Calibration> calibration;
  double saved_w() const { return default_w * ratio.mean; }
  double placement_w() const { return saved_w() - asleep_w; }
};

struct SavingNow {
  const placement::ModelledSaving* modelled = nullptr;  // null: mode off
  bool acting = false;                                  // the cluster follows Wattle's choices now
  std::optional<Calibration> calibration;
  Asleep asleep{};  // while Wattle acts, their saving is part of the figure
  // No value until there is a figure.
  std::optional<ShownSaving> shown() const;
  // The saving by placement and nodes asleep; no value if neither is known.
  std::optional<double> total_w() const;
  // "saves 20 W (5%) [3, 7], modelled, not calibrated; pods wait 0.4% instead of 0.3%"
  std::string text() const;
  // The part of placement, without the watts of nodes asleep.
  std::string placement_text() const;

 private:
  std::string certainty() const;  // ", not calibrated"
  std::string figure_text() const;
};

SavingNow saving_now(const Parts& from);
// Null in mode off. Includes the value of the saving in a day by the tariff.
SortedJson modelled_json(const SavingNow& saving, const Tariff& tariff = {});
// Adds the effect that canaries measured, and the modelled saving. An unknown value has no sample.
void add_saving(Families& families, const EffectEstimate& effect, const SavingNow& saving);

}  // namespace wattle::controller
