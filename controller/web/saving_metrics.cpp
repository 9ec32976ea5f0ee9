#include "controller/web/saving_metrics.hpp"

namespace wattle::controller {

void add_saving(Families& families, const EffectEstimate& saving, const placement::ModelledSaving* modelled,
                const std::optional<Calibration>& calibration) {
  families.gauge("wattle_controller_blocks_treated", "Blocks of the canary that count, treated.",
                 static_cast<double>(saving.treated));
  families.gauge("wattle_controller_blocks_control", "Blocks of the canary that count, control.",
                 static_cast<double>(saving.control));
  families.gauge("wattle_controller_saving_ratio", "Energy per requested core-hour that treated blocks saved.",
                 saving.ratio);
  families.gauge("wattle_controller_saving_low_ratio", "Lower end of its 95% interval.", saving.low);
  families.gauge("wattle_controller_saving_high_ratio", "Upper end of its 95% interval.", saving.high);
  const auto figure = modelled != nullptr ? modelled->figure() : std::nullopt;
  const auto told = [&](auto value) { return figure ? std::optional<double>(value(*figure)) : std::nullopt; };
  families.gauge("wattle_controller_modelled_saving_ratio", "Mode shadow: joules that acting would save, modelled.",
                 told([](auto& f) { return -f.change.mean; }));
  families.gauge("wattle_controller_modelled_saving_low_ratio", "Lower end of its 95% interval.",
                 told([](auto& f) { return -f.change.high; }));
  families.gauge("wattle_controller_modelled_saving_high_ratio", "Upper end of its 95% interval.",
                 told([](auto& f) { return -f.change.low; }));
  families.gauge("wattle_controller_modelled_power_watts", "Watts of the cluster as it is, by the same model.",
                 told([](auto& f) { return f.now_w; }));
  families.gauge("wattle_controller_modelled_acting_power_watts", "Watts that it would draw, modelled.",
                 told([](auto& f) { return f.advised_w; }));
  const auto part = [&](double stats::Interval::*value) {
    return calibration ? std::optional<double>(calibration->ratio.*value) : std::nullopt;
  };
  families.gauge("wattle_controller_calibration_ratio",
                 "Saving that canaries measured, over what was modelled in them.", part(&stats::Interval::mean));
  families.gauge("wattle_controller_calibration_low_ratio", "Lower end of its 95% interval.",
                 part(&stats::Interval::low));
  families.gauge("wattle_controller_calibration_high_ratio", "Upper end of its 95% interval.",
                 part(&stats::Interval::high));
}

}  // namespace wattle::controller
