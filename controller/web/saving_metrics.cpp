#include "controller/web/saving_metrics.hpp"

namespace wattle::controller {

void add_saving(Families& families, const EffectEstimate& saving, const placement::ModelledSaving* modelled,
                const std::optional<Calibration>& calibration) {
  families.gauge("wattle_controller_blocks_treated", "Measured treated blocks of the canary.",
                 static_cast<double>(saving.treated));
  families.gauge("wattle_controller_blocks_control", "Measured control blocks of the canary.",
                 static_cast<double>(saving.control));
  families.gauge("wattle_controller_saving_ratio", "Share of energy per requested core-hour saved in treated blocks.",
                 saving.ratio);
  families.gauge("wattle_controller_saving_low_ratio", "Lower end of the 95% interval.", saving.low);
  families.gauge("wattle_controller_saving_high_ratio", "Upper end of the 95% interval.", saving.high);
  const auto figure = modelled != nullptr ? modelled->figure() : std::nullopt;
  const auto told = [&](auto value) { return figure ? std::optional<double>(value(*figure)) : std::nullopt; };
  families.gauge("wattle_controller_modelled_saving_ratio",
                 "Modelled share of energy that live mode would save, in mode shadow.",
                 told([](auto& f) { return -f.change.mean; }));
  families.gauge("wattle_controller_modelled_saving_low_ratio", "Lower end of the 95% interval.",
                 told([](auto& f) { return -f.change.high; }));
  families.gauge("wattle_controller_modelled_saving_high_ratio", "Upper end of the 95% interval.",
                 told([](auto& f) { return -f.change.low; }));
  families.gauge("wattle_controller_modelled_power_watts", "Modelled power of the cluster now.",
                 told([](auto& f) { return f.now_w; }));
  families.gauge("wattle_controller_modelled_acting_power_watts", "Modelled power of the cluster in live mode.",
                 told([](auto& f) { return f.advised_w; }));
  const auto part = [&](double stats::Interval::*value) {
    return calibration ? std::optional<double>(calibration->ratio.*value) : std::nullopt;
  };
  families.gauge("wattle_controller_calibration_ratio",
                 "Ratio of the saving measured by canaries to the modelled saving.", part(&stats::Interval::mean));
  families.gauge("wattle_controller_calibration_low_ratio", "Lower end of the 95% interval.",
                 part(&stats::Interval::low));
  families.gauge("wattle_controller_calibration_high_ratio", "Upper end of the 95% interval.",
                 part(&stats::Interval::high));
}

}  // namespace wattle::controller
