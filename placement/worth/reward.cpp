// reward: the literature's presets, exactly as published or repaired, and `weighted`. docs/reference/rewards.md has the
// formulas.
#include "placement/worth/reward.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/nearest.hpp"

namespace wattle::placement {
namespace {

constexpr std::array<std::pair<Preset, std::string_view>, 8> kPresets = {{{Preset::ee, "ee"},
                                                                          {Preset::lb, "lb"},
                                                                          {Preset::lc, "lc"},
                                                                          {Preset::el_rl, "el-rl"},
                                                                          {Preset::drs, "drs"},
                                                                          {Preset::power, "power"},
                                                                          {Preset::weighted, "weighted"},
                                                                          {Preset::expression, "expression"}}};
constexpr std::array<std::pair<LoadKind, std::string_view>, 4> kLoadKinds = {
    {{LoadKind::pods, "pods"}, {LoadKind::cpu, "cpu"}, {LoadKind::memory, "memory"}, {LoadKind::disk, "disk"}}};

constexpr double kDrsSettle_s = 5;
constexpr std::uint64_t kDrsEpisode = 100;
constexpr double kEnergyLimit = 10;
constexpr double kRejection = 10'000;

void add(Reward& reward, const std::string& term, double value) {
  reward.terms[term] = value;
  reward.value += value;
}

Reward energy_efficiency(const RewardConfig& config, const RawOutcome& outcome) {
  Reward reward;
  const ClusterBefore& counts = outcome.before;
  const LoadRange& loads = load_of(config, counts);
  const bool best = loads.chosen >= loads.most;
  reward.end_of_episode = !best;
  add(reward, "unused", best ? static_cast<double>((counts.workers - counts.on) * 10 / counts.workers) : 0.0);
  return reward;
}

Reward least_loaded(const LoadRange& loads) {
  Reward reward;
  if (loads.chosen <= loads.least) {
    add(reward, "least_loaded", 10);
  } else if (loads.chosen >= loads.most) {
    add(reward, "most_loaded", -1);
    reward.end_of_episode = true;
  }
  return reward;
}

Reward energy_latency(const RawOutcome& outcome) {
  Reward reward;
  const ClusterBefore& counts = outcome.before;
  const double workers = static_cast<double>(counts.workers);
  const double on = static_cast<double>(counts.on);
  add(reward, "off", (workers + 1 - on) / (workers + 1));
  add(reward, "density", counts.on == 0 ? 0.0 : static_cast<double>(counts.pods) / on / kPodsPerNode);
  const bool known = outcome.latency_ms && outcome.latency_soft_ms && outcome.latency_hard_ms;
  if (known && *outcome.latency_ms <= *outcome.latency_soft_ms) {
    add(reward, "latency", 1);
  } else if (known && *outcome.latency_ms <= *outcome.latency_hard_ms) {
    add(reward, "latency", 0.5);
  } else {
    add(reward, "latency", 0);
    reward.end_of_episode = true;
  }
  return reward;
}

double deviation(std::span<const WorkerAfter> workers, double WorkerAfter::*metric) {
  double sum = 0, squares = 0;
  for (const WorkerAfter& worker : workers) sum += worker.*metric;
  const double mean = sum / static_cast<double>(workers.size());
  for (const WorkerAfter& worker : workers) squares += (worker.*metric - mean) * (worker.*metric - mean);
  return std::sqrt(squares / static_cast<double>(workers.size()));
}

Reward power(const RawOutcome& outcome) {
  Reward reward;
  if (outcome.was_infeasible) {
    add(reward, "infeasible", -kRejection);
    reward.end_of_episode = true;
  } else if (outcome.all_full) {
    add(reward, "all_full", kRejection);
  } else if (outcome.mean_power_w) {
    add(reward, "power", -*outcome.mean_power_w);
  }
  return reward;
}

Reward weighted(const RewardConfig& config, const RawOutcome& outcome) {
  Reward reward;
  const RewardWeights& weights = config.weights;
  const ClusterBefore& counts = outcome.before;
  const bool first = counts.workers > 0 && !(counts.by_pods.chosen > 0);
  const double on_after = static_cast<double>(counts.on + (first ? 1 : 0));
  if (outcome.marginal_w) {
    add(reward, "energy",
        weights.energy *
            energy_term(config, outcome.expected_marginal_w - *outcome.marginal_w, outcome.expected_life_s));
  }
  add(reward, "latency",
      weights.latency * latency_term(outcome.latency_ms, outcome.latency_soft_ms, outcome.latency_hard_ms));
  add(reward, "balance", weights.balance * -outcome.deviations_pct / 100);
  if (counts.workers > 0) {
    add(reward, "active_nodes", weights.active_nodes * -on_after / static_cast<double>(counts.workers));
    const double density = static_cast<double>(counts.pods + 1) / on_after / kPodsPerNode;
    add(reward, "packing", weights.packing * std::min(density, 1.0));
  }
  add(reward, "contention", weights.contention * -std::clamp(outcome.cpu_some_ratio.value_or(0.0), 0.0, 1.0));
  add(reward, "failure", weights.failure * (outcome.failed || outcome.was_infeasible ? -1.0 : 0.0));
  reward.end_of_episode = outcome.failed;
  return reward;
}

Reward by_formula(const RewardConfig& config, const RawOutcome& outcome) {
  RewardConfig plain;
  plain.weights = {1, 1, 1, 1, 1, 1, 1};
  plain.reference_w = config.reference_w;
  plain.horizon_s = config.horizon_s;
  Reward reward = weighted(plain, outcome);
  FormulaValues values{};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto term = reward.terms.find(std::string(kFormulaTerms[i].name));
    if (term != reward.terms.end()) values[i] = term->second;
  }
  reward.value = config.formula(values);
  return reward;
}

}  // namespace

std::string_view to_string(Preset preset) {
  for (const auto& [value, name] : kPresets)
    if (value == preset) return name;
  return "?";
}

Result<Preset> parse_preset(std::string_view text) {
  for (const auto& [value, name] : kPresets)
    if (name == text) return value;
  std::vector<std::string> names;
  for (const auto& each : kPresets) names.emplace_back(each.second);
  return fail(Errc::malformed, "reward preset " + std::string(text), "unknown",
              did_you_mean(text, names, "use one of " + comma_list(names)));
}

PresetTimes times_of(Preset preset) {
  return preset == Preset::drs ? PresetTimes{kDrsSettle_s, kDrsEpisode} : PresetTimes{};
}

std::string_view to_string(LoadKind kind) {
  for (const auto& [value, name] : kLoadKinds)
    if (value == kind) return name;
  return "?";
}

Result<LoadKind> parse_load_kind(std::string_view text) {
  for (const auto& [value, name] : kLoadKinds)
    if (name == text) return value;
  return fail(Errc::malformed, "load kind " + std::string(text), "unknown", "use one of pods, cpu, memory, disk");
}

void ClusterBefore::add(const WorkerBefore& worker, bool chosen) {
  const auto take = [&](LoadRange& range, double load) {
    range.least = workers == 0 ? load : std::min(range.least, load);
    range.most = workers == 0 ? load : std::max(range.most, load);
    if (chosen) range.chosen = load;
  };
  take(by_pods, static_cast<double>(worker.pods));
  take(by_cpu, worker.cpu_ratio);
  take(by_memory, worker.memory_ratio);
  take(by_disk, worker.disk_ratio);
  take(by_tcp, static_cast<double>(worker.tcp_established));
  ++workers;
  on += worker.pods > 0 ? 1 : 0;
  pods += worker.pods;
}

ClusterBefore summed(std::span<const WorkerBefore> workers, std::size_t chosen) {
  ClusterBefore before;
  if (chosen >= workers.size()) return before;
  for (std::size_t i = 0; i < workers.size(); ++i) before.add(workers[i], i == chosen);
  return before;
}

double deviations_pct(std::span<const WorkerAfter> workers) {
  if (workers.empty()) return 0;
  double sum = 0;
  for (const auto metric : {&WorkerAfter::cpu_pct, &WorkerAfter::memory_pct, &WorkerAfter::net_rx_pct,
                            &WorkerAfter::net_tx_pct, &WorkerAfter::disk_read_pct, &WorkerAfter::disk_write_pct}) {
    sum += deviation(workers, metric);
  }
  return sum;
}

const LoadRange& load_of(const RewardConfig& config, const ClusterBefore& before) {
  if (config.preset == Preset::lc) return before.by_tcp;
  switch (config.load) {
    case LoadKind::pods:
      break;
    case LoadKind::cpu:
      return before.by_cpu;
    case LoadKind::memory:
      return before.by_memory;
    case LoadKind::disk:
      return before.by_disk;
  }
  return before.by_pods;
}

Reward evaluate(const RewardConfig& config, const RawOutcome& outcome) {
  const bool counted = outcome.before.workers > 0;
  switch (config.preset) {
    case Preset::ee:
      return counted ? energy_efficiency(config, outcome) : Reward{};
    case Preset::lb:
    case Preset::lc:
      return counted ? least_loaded(load_of(config, outcome.before)) : Reward{};
    case Preset::el_rl:
      return counted ? energy_latency(outcome) : Reward{};
    case Preset::drs: {
      Reward reward;
      add(reward, "deviations", -outcome.deviations_pct);
      reward.end_of_episode = outcome.placement % kDrsEpisode == kDrsEpisode - 1;
      return reward;
    }
    case Preset::power:
      return power(outcome);
    case Preset::weighted:
    case Preset::expression:
      break;
  }
  return config.preset == Preset::weighted ? weighted(config, outcome) : by_formula(config, outcome);
}

double energy_term(const RewardConfig& config, double saved_w, double life_s) {
  const double hours = std::clamp(life_s, 0.0, std::max(config.horizon_s, 0.0)) / 3600;
  const double value = saved_w * hours / std::max(config.reference_w, 1e-3);
  return std::isfinite(value) ? std::clamp(value, -kEnergyLimit, kEnergyLimit) : 0.0;
}

double latency_term(std::optional<double> latency_ms, std::optional<double> soft_ms, std::optional<double> hard_ms) {
  if (!latency_ms || !std::isfinite(*latency_ms)) return hard_ms ? -1.0 : 0.0;
  if (hard_ms && *latency_ms > *hard_ms) return -1;
  // Given only a hard limit, anything within it is 1. Given only a soft one, twice that is 0. Without limits: 0 to 100
  // ms.
  const double soft = soft_ms ? *soft_ms : hard_ms.value_or(0.0);
  const double end = hard_ms ? *hard_ms : soft_ms ? 2 * *soft_ms : 100.0;
  if (*latency_ms <= soft) return 1;
  if (end <= soft) return 0;
  return std::max(0.0, (end - *latency_ms) / (end - soft));
}

}  // namespace wattle::placement
