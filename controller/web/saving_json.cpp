#include "controller/web/saving_json.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/stats/to_come.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/web/fleet_json.hpp"

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

// Converts a change of joules to the saved share, which is at most 1.
stats::Interval saved(const stats::Interval& change) {
  return {0.0 - std::max(change.mean, -1.0), 0.0 - std::max(change.high, -1.0), 0.0 - std::max(change.low, -1.0)};
}

std::string fixed(double value, int digits) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  const std::string number = text.data();
  return number.find_first_not_of("-0.") == std::string::npos && number.front() == '-' ? number.substr(1) : number;
}

// A few blocks in which nodes of the copy woke give an interval wider than twice the power. Their mean can exceed what
// the fleet draws.
bool too_wide(const stats::Interval& change) {
  constexpr double kWidest = 2;
  return !(change.high - change.low <= kWidest);
}

std::string duration(double seconds) {
  constexpr double kMinute = 60;
  return seconds < 2 * kMinute ? fixed(std::ceil(seconds), 0) + " s" : fixed(std::ceil(seconds / kMinute), 0) + " min";
}

}  // namespace

SavingNow saving_now(const Parts& from) {
  SavingNow now{from.decider.engine().shadow().saving(), from.decider.spec().mode.mode != Mode::shadow, {}};
  if (now.modelled != nullptr) now.calibration = from.rollout.calibration();
  now.asleep = asleep_now(from);
  return now;
}

std::optional<ShownSaving> SavingNow::shown() const {
  const auto figure = modelled != nullptr ? modelled->figure() : std::nullopt;
  if (!figure) return std::nullopt;
  // The model's bias stays the same in the future, so the interval of the calibration does not change.
  const stats::Interval change = stats::to_come(figure->change, figure->seconds);
  if (too_wide(change)) return std::nullopt;
  const double by_sleep = figure->now_w > 0 ? -figure->asleep_w / figure->now_w : 0;
  return ShownSaving{saved(calibration ? calibrated(change, *calibration, by_sleep) : change),
                     figure->now_w,
                     figure->now_wait_ratio,
                     figure->advised_wait_ratio,
                     figure->asleep_w,
                     calibration};
}

std::optional<double> SavingNow::total_w() const {
  const auto now = shown();
  if (now) return now->saved_w() + (acting ? 0 : asleep.saved_w);
  return asleep.nodes > 0 ? std::optional(asleep.saved_w) : std::nullopt;
}

std::string SavingNow::text() const {
  if (modelled == nullptr) return "not modelled: mode is off";
  const bool apart = asleep.nodes > 0 && !(acting && shown());
  return (apart ? asleep.text() + "; by placement: " : std::string()) + figure_text();
}

std::string SavingNow::certainty() const {
  if (calibration) return ", calibrated by " + std::to_string(calibration->blocks) + " canary blocks";
  return acting ? ", not calibrated" : "";
}

std::string SavingNow::placement_text() const {
  if (modelled == nullptr) return text();
  const auto now = shown();
  if (!now || !acting || asleep.nodes == 0) return figure_text();
  const double saved_w = now->placement_w();
  return std::string(saved_w < 0 ? "uses " : "saves ") + fixed(std::abs(saved_w), 1) + " W " +
         (saved_w < 0 ? "more " : "") + "in addition to the nodes asleep, modelled" + certainty();
}

std::string SavingNow::figure_text() const {
  const auto now = shown();
  if (!now && modelled->figure()) return "not known yet: the modelled power varies too much";
  if (!now)
    return "not known yet: needs " + duration(modelled->first_in_s()) + " more with pods that Wattle decided on";
  constexpr double kSmallW = 10, kSmallRatio = 0.095;
  const double saved_w = std::abs(now->saved_w());
  const bool saves = now->ratio.mean >= 0;
  const stats::Interval ratio =
      saves ? now->ratio : stats::Interval{-now->ratio.mean, -now->ratio.high, -now->ratio.low};
  const int digits = ratio.mean < kSmallRatio ? 1 : 0;
  const auto percent = [digits](double share) { return fixed(100 * share, digits); };
  const bool some_sleep = acting && asleep.nodes > 0 && now->asleep_w > 0;
  return std::string(acting  ? saves ? "saves " : "uses "
                     : saves ? "would save "
                             : "would use ") +
         fixed(saved_w, saved_w < kSmallW ? 1 : 0) + " W " + (saves ? "" : "more ") + "(" + percent(ratio.mean) +
         "%) [" + percent(ratio.low) + ", " + percent(ratio.high) + "], modelled" + certainty() +
         (some_sleep
              ? ", " + fixed(now->asleep_w, 0) + " W of it by nodes asleep, " + std::to_string(asleep.nodes) + " now"
              : "") +
         (acting ? "; pods wait " : "; pods would wait ") + fixed(100 * now->acting_wait_ratio, 1) + "% instead of " +
         fixed(100 * now->default_wait_ratio, 1) + "%";
}

json modelled_json(const SavingNow& saving, const Tariff& tariff) {
  if (saving.modelled == nullptr) return nullptr;
  const auto figure = saving.modelled->figure();
  const auto shown = saving.shown();
  using Figure = placement::ModelledFigure;
  const auto of = [&](double Figure::*value) { return figure ? json((*figure).*value) : json(nullptr); };
  using stats::Interval;
  const auto bound = [](bool known, const Interval& interval, double Interval::*value, double times = 1) {
    return known ? json(times * interval.*value) : json(nullptr);
  };
  const Interval plain = figure ? saved(figure->change) : Interval{}, best = shown ? shown->ratio : Interval{};
  const double default_w = shown ? shown->default_w : 0;
  const auto saved_j = per_day_j(shown ? std::optional(default_w * best.mean) : std::nullopt);
  const bool known = shown.has_value(), right = known && saving.calibration.has_value();
  json object = {{"text", saving.text()},
                 {"acting", saving.acting},
                 {"asleep_text", saving.asleep.nodes > 0 ? json(saving.asleep.text()) : json(nullptr)},
                 {"asleep_saved_w", saving.asleep.saved_w},
                 {"placement_saved_w", shown ? json(shown->placement_w()) : json(nullptr)},
                 {"total_saved_w", saving.total_w() ? json(*saving.total_w()) : json(nullptr)},
                 {"saved_w", bound(known, best, &Interval::mean, default_w)},
                 {"saved_low_w", bound(known, best, &Interval::low, default_w)},
                 {"saved_high_w", bound(known, best, &Interval::high, default_w)},
                 {"energy_j_per_day", saved_j ? json(*saved_j) : json(nullptr)},
                 {"saving_ratio", bound(figure.has_value(), plain, &Interval::mean)},
                 {"saving_low", bound(figure.has_value(), plain, &Interval::low)},
                 {"saving_high", bound(figure.has_value(), plain, &Interval::high)},
                 {"power_w", of(&Figure::now_w)},
                 {"acting_power_w", of(&Figure::advised_w)},
                 {"cpu_wait", of(&Figure::now_wait_ratio)},
                 {"acting_cpu_wait", of(&Figure::advised_wait_ratio)},
                 {"seconds", of(&Figure::seconds)},
                 {"advised_ratio", of(&Figure::advised_ratio)},
                 {"first_in_s", saving.modelled->first_in_s()},
                 {"calibration", calibration_json(saving.calibration)},
                 {"calibrated_ratio", bound(right, best, &Interval::mean)},
                 {"calibrated_low", bound(right, best, &Interval::low)},
                 {"calibrated_high", bound(right, best, &Interval::high)}};
  tariff.add_to(object, saved_j, "_per_day");
  return object;
}

void add_saving(Families& families, const EffectEstimate& effect, const SavingNow& saving) {
  families.gauge("wattle_controller_blocks_treated", "Measured treated blocks of the canary.",
                 static_cast<double>(effect.treated));
  families.gauge("wattle_controller_blocks_control", "Measured control blocks of the canary.",
                 static_cast<double>(effect.control));
  using Bounds = std::array<std::optional<double>, 3>;
  const auto add = [&](const char* name, const char* help, const Bounds& bounds) {
    static constexpr std::array kBounds{"mean", "low", "high"};
    prometheus::MetricFamily& family = families.family(name, help, prometheus::MetricType::Gauge);
    for (std::size_t i = 0; i < bounds.size(); ++i)
      if (bounds[i]) Families::add(family, {{"bound", kBounds[i]}}, *bounds[i]);
  };
  add("wattle_controller_saving_ratio",
      "Share of energy per requested core-hour saved in treated blocks, with its 95% interval.",
      {effect.ratio, effect.low, effect.high});
  const auto shown = saving.shown();
  const auto modelled = [&](double times) {
    return shown ? Bounds{times * shown->ratio.mean, times * shown->ratio.low, times * shown->ratio.high} : Bounds{};
  };
  add("wattle_controller_modelled_saving_ratio",
      "Modelled share of energy that Wattle saves, or would save in mode shadow, with its 95% interval.", modelled(1));
  add("wattle_controller_modelled_saving_watts",
      "Modelled power that Wattle saves, or would save in mode shadow, with its 95% interval.",
      modelled(shown ? shown->default_w : 0));
}

}  // namespace wattle::controller
