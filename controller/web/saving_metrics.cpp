#include "controller/web/saving_metrics.hpp"

namespace wattle::controller {

namespace {
void add_bounds(Families& families, const char* name, const char* help, std::optional<double> mean,
                std::optional<double> low, std::optional<double> high) {
  prometheus::MetricFamily& family = families.family(name, help, prometheus::MetricType::Gauge);
  for (const auto& [bound, value] : {std::pair("mean", mean), {"low", low}, {"high", high}})
    if (value) Families::add(family, {{"bound", bound}}, *value);
}
}  // namespace

void add_saving(Families& families, const EffectEstimate& saving, const placement::ModelledSaving* modelled) {
  families.gauge("wattle_controller_blocks_treated", "Measured treated blocks of the canary.",
                 static_cast<double>(saving.treated));
  families.gauge("wattle_controller_blocks_control", "Measured control blocks of the canary.",
                 static_cast<double>(saving.control));
  add_bounds(families, "wattle_controller_saving_ratio",
             "Share of energy per requested core-hour saved in treated blocks, with its 95% interval.", saving.ratio,
             saving.low, saving.high);
  const auto figure = modelled != nullptr ? modelled->figure() : std::nullopt;
  const auto told = [&](auto value) { return figure ? std::optional<double>(value(*figure)) : std::nullopt; };
  add_bounds(families, "wattle_controller_modelled_saving_ratio",
             "Modelled share of energy that live mode would save, in mode shadow, with its 95% interval.",
             told([](auto& f) { return -f.change.mean; }), told([](auto& f) { return -f.change.high; }),
             told([](auto& f) { return -f.change.low; }));
}

}  // namespace wattle::controller
