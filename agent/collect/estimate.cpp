#include "agent/collect/estimate.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/parse.hpp"

namespace wattle::agent {

namespace {
struct Row {
  std::string_view vendor;
  unsigned family, model, stepping_from;
  double idle_w_per_cpu, max_w_per_cpu;
  std::string_view name;
};

// Later steppings of a model come first.
constexpr std::array<Row, 9> kTable{{
    {"AuthenticAMD", 23, 1, 0, 0.8227, 2.5531, "AMD EPYC 1st Gen"},
    {"AuthenticAMD", 23, 49, 0, 0.4743, 1.6930, "AMD EPYC 2nd Gen"},
    {"AuthenticAMD", 25, 1, 0, 0.4454, 2.0193, "AMD EPYC 3rd Gen"},
    {"GenuineIntel", 6, 85, 5, 0.6389, 3.9673, "Intel Cascade Lake"},
    {"GenuineIntel", 6, 85, 0, 0.6446, 4.1934, "Intel Skylake-SP"},
    {"GenuineIntel", 6, 79, 0, 0.7128, 3.6853, "Intel Broadwell"},
    {"GenuineIntel", 6, 86, 0, 0.7128, 3.6853, "Intel Broadwell-D"},
    {"GenuineIntel", 6, 63, 0, 1.9006, 6.0129, "Intel Haswell"},
    {"GenuineIntel", 6, 45, 0, 2.1694, 8.5754, "Intel Sandy Bridge"},
}};
// Mean over servers from the same source, for processors that are not in the table.
constexpr double kMeanIdle_w = 0.74, kMeanMax_w = 3.5;
}  // namespace

std::optional<CpuModel> parse_cpuinfo(std::string_view text) {
  CpuModel cpu;
  bool done = false;
  parse::for_each_line(text, [&](std::string_view line) {
    if (done) return;
    const auto colon = line.find(':');
    if (colon == std::string_view::npos) {
      done = !cpu.vendor.empty();  // an empty line ends the first processor
      return;
    }
    const auto key = parse::trim(line.substr(0, colon)), value = parse::trim(line.substr(colon + 1));
    if (key == "vendor_id") cpu.vendor.assign(value);
    if (key == "model name") cpu.name.assign(value);
    if (key == "cpu family") cpu.family = parse::integer<unsigned>(value).value_or(0);
    if (key == "model") cpu.model = parse::integer<unsigned>(value).value_or(0);
    if (key == "stepping") cpu.stepping = parse::integer<unsigned>(value).value_or(0);
  });
  if (cpu.vendor.empty()) return std::nullopt;
  return cpu;
}

double PowerModel::power_w(double utilisation_ratio) const {
  const double u = std::clamp(utilisation_ratio, 0.0, 1.0);
  double share = 2 * u - std::pow(u, 1.4);
  if (curve.size() > 1) {
    const double at = u * static_cast<double>(curve.size() - 1);
    const auto below = std::min(static_cast<std::size_t>(at), curve.size() - 2);
    const double between = at - static_cast<double>(below);
    share = curve[below] * (1 - between) + curve[below + 1] * between;
  }
  return idle_w + (max_w - idle_w) * share;
}

PowerModel table_model(const std::optional<CpuModel>& cpu, double cores) {
  if (cpu) {
    const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const Row& r) {
      return r.vendor == cpu->vendor && r.family == cpu->family && r.model == cpu->model &&
             cpu->stepping >= r.stepping_from;
    });
    if (row != kTable.end())
      return {row->idle_w_per_cpu * cores, row->max_w_per_cpu * cores, {}, "table: " + std::string(row->name)};
  }
  return {kMeanIdle_w * cores, kMeanMax_w * cores, {}, "table: mean over servers"};
}

EstimatedEnergy estimate_energy(const PowerModel& model, double utilisation_ratio, Duration interval) {
  const double us = std::max(0.0, seconds(interval) * 1e6);
  EstimatedEnergy energy;
  energy.energy_uj = static_cast<std::uint64_t>(std::llround(model.power_w(utilisation_ratio) * us));
  energy.idle_uj = std::min(energy.energy_uj, static_cast<std::uint64_t>(std::llround(model.idle_w * us)));
  return energy;
}

}  // namespace wattle::agent
