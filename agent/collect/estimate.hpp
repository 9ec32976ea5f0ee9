// estimate: estimates power from utilisation, for machines without a measurement. The result is marked `estimated`
// everywhere.
// Source   the configuration, or a table by CPU family and model from <proc>/cpuinfo: watts per logical CPU, idle and
//          full, of the Cloud Carbon Footprint coefficients
//          (github.com/cloud-carbon-footprint/cloud-carbon-coefficients), which are means over SPECpower_ssj2008
//          results. Shape: 2u - u^1.4 (Fan, Weber, Barroso: Power provisioning for a warehouse-sized computer, ISCA
//          2007, section 4.2) unless the configuration gives points
// Units    W, uJ; utilisation _ratio 0..1
// Threads  pure
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/clock.hpp"

namespace wattle::agent {

struct CpuModel {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD"
  std::string name;
  unsigned family = 0, model = 0, stepping = 0;
};

// Parses the first processor.
std::optional<CpuModel> parse_cpuinfo(std::string_view text);

struct PowerModel {
  double idle_w = 0;
  double max_w = 0;
  std::vector<double> curve;  // share of (max - idle) at evenly spaced utilisations 0..1; empty: 2u - u^1.4
  std::string origin;         // "configuration", "table: AMD EPYC 3rd Gen", "table: mean over servers"

  double power_w(double utilisation_ratio) const;
};

PowerModel table_model(const std::optional<CpuModel>& cpu, double cores);

// Energy over an interval, and the idle part of it.
struct EstimatedEnergy {
  std::uint64_t energy_uj = 0;
  std::uint64_t idle_uj = 0;
};
EstimatedEnergy estimate_energy(const PowerModel& model, double utilisation_ratio, Duration interval);

}  // namespace wattle::agent
