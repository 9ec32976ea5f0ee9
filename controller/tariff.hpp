// tariff: price and carbon intensity of electricity, with which documents show joules as money and as grams of CO2.
// Source   the section `tariff` of the configuration; one price for all nodes and hours
// Units    currency per kWh, g CO2 per kWh; joules in
// Threads  value
#pragma once

#include <optional>
#include <string>

#include "common/json/value.hpp"

namespace wattle::controller {

struct Tariff {
  std::optional<double> price_per_kwh, co2_g_per_kwh;  // unset: not shown
  std::string currency;                                // three letters (ISO 4217) if there is a price

  std::optional<double> cost_of(std::optional<double> energy_j) const { return times(price_per_kwh, energy_j); }
  std::optional<double> co2_g_of(std::optional<double> energy_j) const { return times(co2_g_per_kwh, energy_j); }
  // Adds cost, currency and co2_g of the joules to an object; null where the tariff or the joules are unknown. `ending`
  // distinguishes the keys: "_per_day".
  void add_to(SortedJson& object, std::optional<double> energy_j, const std::string& ending = {}) const {
    const auto value = [](std::optional<double> of) { return of ? SortedJson(*of) : SortedJson(nullptr); };
    object["cost" + ending] = value(cost_of(energy_j));
    object["currency"] = currency.empty() ? SortedJson(nullptr) : SortedJson(currency);
    object["co2_g" + ending] = value(co2_g_of(energy_j));
  }

 private:
  static std::optional<double> times(std::optional<double> per_kwh, std::optional<double> energy_j) {
    constexpr double kJoulesPerKwh = 3.6e6;
    return per_kwh && energy_j ? std::optional(*per_kwh * *energy_j / kJoulesPerKwh) : std::nullopt;
  }
};

}  // namespace wattle::controller
