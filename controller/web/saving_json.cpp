#include "controller/web/saving_json.hpp"

#include <nlohmann/json.hpp>

namespace wattle::controller {

using nlohmann::json;

json modelled_json(const placement::ModelledSaving* saving) {
  if (saving == nullptr) return nullptr;
  const auto figure = saving->figure();
  const auto of = [&](double placement::ModelledFigure::*value) {
    return figure ? json((*figure).*value) : json(nullptr);
  };
  const auto saved = [&](double stats::Interval::*value) {
    return figure ? json(0.0 - figure->change.*value) : json(nullptr);
  };
  using Figure = placement::ModelledFigure;
  return {{"saving_ratio", saved(&stats::Interval::mean)},      {"saving_low", saved(&stats::Interval::high)},
          {"saving_high", saved(&stats::Interval::low)},        {"power_w", of(&Figure::now_w)},
          {"acting_power_w", of(&Figure::advised_w)},           {"cpu_wait", of(&Figure::now_wait_ratio)},
          {"acting_cpu_wait", of(&Figure::advised_wait_ratio)}, {"seconds", of(&Figure::seconds)},
          {"advised_ratio", of(&Figure::advised_ratio)},        {"first_in_s", saving->first_in_s()}};
}

}  // namespace wattle::controller
