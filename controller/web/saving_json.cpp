#include "controller/web/saving_json.hpp"

#include "common/json/value.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

json calibration_json(const std::optional<Calibration>& calibration) {
  if (!calibration) return nullptr;
  return {{"blocks", calibration->blocks},
          {"ratio", calibration->ratio.mean},
          {"ratio_low", calibration->ratio.low},
          {"ratio_high", calibration->ratio.high}};
}

}  // namespace

json modelled_json(const placement::ModelledSaving* saving, const std::optional<Calibration>& calibration) {
  if (saving == nullptr) return nullptr;
  const auto figure = saving->figure();
  const auto of = [&](double placement::ModelledFigure::*value) {
    return figure ? json((*figure).*value) : json(nullptr);
  };
  const auto saved = [&](double stats::Interval::*value) {
    return figure ? json(0.0 - figure->change.*value) : json(nullptr);
  };
  std::optional<stats::Interval> put_right;
  if (figure && calibration) put_right = calibrated(figure->change, *calibration);
  const auto right = [&](double stats::Interval::*value) {
    return put_right ? json(0.0 - (*put_right).*value) : json(nullptr);
  };
  using Figure = placement::ModelledFigure;
  return {{"saving_ratio", saved(&stats::Interval::mean)},      {"saving_low", saved(&stats::Interval::high)},
          {"saving_high", saved(&stats::Interval::low)},        {"power_w", of(&Figure::now_w)},
          {"acting_power_w", of(&Figure::advised_w)},           {"cpu_wait", of(&Figure::now_wait_ratio)},
          {"acting_cpu_wait", of(&Figure::advised_wait_ratio)}, {"seconds", of(&Figure::seconds)},
          {"advised_ratio", of(&Figure::advised_ratio)},        {"first_in_s", saving->first_in_s()},
          {"calibration", calibration_json(calibration)},       {"calibrated_ratio", right(&stats::Interval::mean)},
          {"calibrated_low", right(&stats::Interval::high)},    {"calibrated_high", right(&stats::Interval::low)}};
}

}  // namespace wattle::controller
