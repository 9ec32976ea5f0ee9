#include "agent/accept.hpp"

#include <algorithm>
#include <cmath>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "common/version.hpp"

namespace wattle::agent {

namespace {

using Report = OrderedJson;
// Tolerances: for two counters of one quantity, and for the sum of two loads against both together, because clock
// frequency and temperature change with the load.
constexpr double kCountersApart = 0.05, kTogetherApart = 0.25, kOwnCores = 0.05;
// A smaller rise over idle is too small to evaluate.
constexpr double kLeastRise_w = 1;

std::string_view kind_name(EnergyKind kind) {
  constexpr std::array<std::string_view, 6> kNames{"package", "core", "uncore", "dram", "platform", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string figure(double value) { return fixed(value, 1); }

Report number_or_null(std::optional<double> value) { return value ? Report(std::round(*value * 1e3) / 1e3) : Report(); }

std::optional<double> watts(const std::pair<std::uint64_t, double>& sum) {
  if (sum.second <= 0) return std::nullopt;
  return static_cast<double>(sum.first) * 1e-6 / sum.second;
}

}  // namespace

std::optional<double> PhaseSums::power_w() const {
  if (energy_ticks == 0 || energy_ticks != ticks || seconds <= 0) return std::nullopt;
  return static_cast<double>(energy_uj) * 1e-6 / seconds;
}

void AcceptTally::take(std::size_t phase, const Sample& sample, const EveryReading& all, double own_cpu_s) {
  const double before_s = std::exchange(own_cpu_s_, own_cpu_s);
  const NodeValues& node = sample.record.node;
  source_ = node.energy_source;
  if (sample.record.interval_ns <= 0) return;
  PhaseSums& sums = phases_[phase];
  const double interval_s = static_cast<double>(sample.record.interval_ns) * 1e-9;
  ++sums.ticks;
  sums.seconds += interval_s;
  sums.used_core_seconds += node.cpu_used_cores.value_or(0) * interval_s;
  if (before_s >= 0) sums.own_cpu_s += own_cpu_s - before_s;
  std::uint64_t shares_uj = 0;
  for (const WorkloadValues& workload : sample.record.workloads) {
    shares_uj += workload.energy_uj.value_or(0);
    for (std::size_t load = 0; load < kLoadNames.size(); ++load) {
      if (workload.name != "wattle-accept-" + std::string(kLoadNames[load]) + ".service") continue;
      sums.load_uj[load] += workload.energy_uj.value_or(0);
      sums.load_usage_us[load] += workload.cpu_usage_us.value_or(0);
    }
  }
  if (node.energy_uj) {
    ++sums.energy_ticks;
    sums.energy_uj += *node.energy_uj;
    sums.idle_uj += node.idle_energy_uj.value_or(0);
    sums.unattributed_uj += node.unattributed_energy_uj.value_or(0);
    sums.workloads_uj += shares_uj;
    ++looked_at_;
    if (shares_uj + node.idle_energy_uj.value_or(0) + node.unattributed_energy_uj.value_or(0) != *node.energy_uj)
      ++not_conserved_;
  }
  for (const auto& [source, readings] : all) {
    std::map<EnergyKind, std::optional<std::uint64_t>> whole;
    for (const DomainEnergy& domain : readings) {
      auto& sum = whole.try_emplace(domain.kind, 0).first->second;
      if (!domain.energy_uj || domain.gap)
        sum.reset();
      else if (sum)
        *sum += *domain.energy_uj;
    }
    for (const auto& [kind, sum] : whole) {
      if (!sum) continue;
      auto& place = sums.by_source[std::string(to_string(source)) + " " + std::string(kind_name(kind))];
      place.first += *sum;
      place.second += interval_s;
    }
  }
}

PhaseSums AcceptTally::all_phases() const {
  PhaseSums all;
  for (const PhaseSums& one : phases_) {
    all.seconds += one.seconds;
    all.own_cpu_s += one.own_cpu_s;
    for (const auto& [name, sum] : one.by_source) {
      all.by_source[name].first += sum.first;
      all.by_source[name].second += sum.second;
    }
  }
  return all;
}

AcceptTally::Verdict AcceptTally::conserved() const {
  Verdict out{"shares, idle and unattributed energy add up to the measured energy", {}, {}};
  out.found = std::to_string(looked_at_) + " intervals, " + std::to_string(not_conserved_) + " do not";
  if (looked_at_ > 0) out.good = not_conserved_ == 0;
  return out;
}

// Compares each two sources for one kind of domain. A platform's meter includes at least packages and DRAM.
std::vector<AcceptTally::Verdict> AcceptTally::counters() const {
  std::vector<Verdict> out;
  const auto sums = all_phases().by_source;
  for (auto one = sums.begin(); one != sums.end(); ++one)
    for (auto other = std::next(one); other != sums.end(); ++other) {
      const auto kind = [](const std::string& name) { return name.substr(name.find(' ') + 1); };
      const auto first_w = watts(one->second), second_w = watts(other->second);
      if (kind(one->first) != kind(other->first) || !first_w || !second_w) continue;
      const double apart = std::abs(*first_w - *second_w) / std::max({*first_w, *second_w, 1e-9});
      out.push_back({one->first + " and " + other->first + " agree",
                     figure(*first_w) + " W and " + figure(*second_w) + " W, " + figure(100 * apart) + "% apart",
                     apart <= kCountersApart});
    }
  for (const auto& [platform, sum] : sums) {
    if (!platform.ends_with(" platform")) continue;
    const std::string source = platform.substr(0, platform.find(' '));
    const auto part = sums.find(source + " package");
    const auto whole_w = watts(sum), part_w = part != sums.end() ? watts(part->second) : std::nullopt;
    if (whole_w && part_w)
      out.push_back({platform + " is more than its packages", figure(*whole_w) + " W and " + figure(*part_w) + " W",
                     *whole_w >= *part_w});
  }
  if (out.empty())
    out.push_back({"two counters of one quantity agree", "no domain has two sources on this machine", {}});
  return out;
}

AcceptTally::Verdict AcceptTally::additive() const {
  Verdict out{"two loads together use as much energy as separately", no_loads_, {}};
  if (!no_loads_.empty()) return out;
  std::array<std::optional<double>, kAcceptPhases.size()> power_w;
  for (std::size_t i = 0; i < power_w.size(); ++i) power_w[i] = phases_[i].power_w();
  if (std::any_of(power_w.begin(), power_w.end(), [](const auto& one) { return !one; })) {
    out.found = "no energy was measured in some phase";
    return out;
  }
  const double idle_w = (*power_w[0] + *power_w[4]) / 2;
  const double alone_w = *power_w[1] + *power_w[2] - 2 * idle_w, together_w = *power_w[3] - idle_w;
  out.found = figure(*power_w[1] - idle_w) + " W and " + figure(*power_w[2] - idle_w) + " W above idle alone, " +
              figure(together_w) + " W together";
  if (alone_w < kLeastRise_w) return out;
  out.good = std::abs(together_w - alone_w) <= kTogetherApart * alone_w;
  return out;
}

std::vector<AcceptTally::Verdict> AcceptTally::attributed() const {
  std::vector<Verdict> out;
  const auto idle = phases_[0].power_w();
  for (std::size_t load = 0; load < kLoadNames.size(); ++load) {
    Verdict verdict{"the load '" + std::string(kLoadNames[load]) + "' is attributed the energy that it uses", {}, {}};
    const PhaseSums& alone = phases_[1 + load];
    const auto power_w = alone.power_w();
    if (!no_workloads_.empty()) {
      verdict.found = no_workloads_;
    } else if (!idle || !power_w || alone.seconds <= 0) {
      verdict.found = "no energy was measured";
    } else {
      const double given_w = static_cast<double>(alone.load_uj[load]) * 1e-6 / alone.seconds;
      const double rise_w = *power_w - *idle;
      verdict.found = figure(given_w) + " W attributed, " + figure(rise_w) + " W above idle, " +
                      fixed(static_cast<double>(alone.load_usage_us[load]) * 1e-6 / alone.seconds, 2) + " cores";
      // Attributed power may include idle power: at most the total power, and at least half of the rise.
      if (rise_w >= kLeastRise_w) verdict.good = given_w >= rise_w / 2 && given_w <= *power_w;
    }
    out.push_back(std::move(verdict));
  }
  return out;
}

AcceptTally::Verdict AcceptTally::own_cost() const {
  Verdict out{"the agent itself uses little CPU", {}, {}};
  const PhaseSums all = all_phases();
  if (all.seconds <= 0) return out;
  const double cores = all.own_cpu_s / all.seconds;
  out.found = fixed(cores, 4) + " cores, " + figure(static_cast<double>(own_memory_bytes_) / (1 << 20)) + " MiB";
  out.good = cores <= kOwnCores;
  return out;
}

std::vector<AcceptTally::Verdict> AcceptTally::verdicts() const {
  std::vector<Verdict> out{conserved()};
  for (Verdict& one : counters()) out.push_back(std::move(one));
  out.push_back(additive());
  for (Verdict& one : attributed()) out.push_back(std::move(one));
  out.push_back(own_cost());
  return out;
}

bool AcceptTally::accepted() const {
  const auto all = verdicts();
  return std::none_of(all.begin(), all.end(), [](const Verdict& one) { return one.good == false; });
}

// Contains only the sources of findings, because reasons may contain paths, addresses and hosts.
std::string AcceptTally::json() const {
  Report sources = Report::object(), phases = Report::array(), judged = Report::array();
  for (const Finding& one : findings_) sources[one.source] = one.ok ? "ok" : "lost";
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const PhaseSums& sums = phases_[i];
    const auto mean_w = [&](std::uint64_t uj) {
      return number_or_null(sums.energy_ticks > 0 ? watts({uj, sums.seconds}) : std::nullopt);
    };
    Report by_source = Report::object(), loads = Report::object();
    for (const auto& [name, sum] : sums.by_source) by_source[name] = number_or_null(watts(sum));
    for (std::size_t load = 0; load < kLoadNames.size(); ++load)
      loads[std::string(kLoadNames[load])] = {
          {"power_w", mean_w(sums.load_uj[load])},
          {"cpu_cores", sums.seconds > 0
                            ? number_or_null(static_cast<double>(sums.load_usage_us[load]) * 1e-6 / sums.seconds)
                            : Report()}};
    phases.push_back(
        {{"phase", kAcceptPhases[i].name},
         {"seconds", number_or_null(sums.seconds)},
         {"power_w", number_or_null(sums.power_w())},
         {"cpu_cores", sums.seconds > 0 ? number_or_null(sums.used_core_seconds / sums.seconds) : Report()},
         {"workloads_w", mean_w(sums.workloads_uj)},
         {"idle_w", mean_w(sums.idle_uj)},
         {"unattributed_w", mean_w(sums.unattributed_uj)},
         {"loads", loads},
         {"sources_w", by_source}});
  }
  for (const Verdict& one : verdicts())
    judged.push_back({{"what", one.what},
                      {"found", one.found},
                      {"verdict", !one.good   ? "not seen"
                                  : *one.good ? "good"
                                              : "bad"}});
  return Report{{"wattle", kVersion},
                {"accepted", accepted()},
                {"processor", processor_},
                {"kernel", kernel_},
                {"energy_source", to_string(source_)},
                {"sources", sources},
                {"phases", phases},
                {"verdicts", judged}}
             .dump(1) +
         "\n";
}

std::string AcceptTally::text() const {
  std::string out = "Wattle " + std::string(kVersion) + " on " + processor_ + ", Linux " + kernel_ +
                    "; energy: " + std::string(to_string(source_)) + "\n\nsources:";
  for (const Finding& one : findings_) out += " " + one.source + (one.ok ? "" : " (lost)");
  out += "\n\n";
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    const PhaseSums& sums = phases_[i];
    const auto power_w = sums.power_w();
    out += std::string(kAcceptPhases[i].name) + ": " + figure(sums.seconds) + " s, " +
           (power_w ? figure(*power_w) + " W" : std::string("no energy measured")) + ", " +
           fixed(sums.seconds > 0 ? sums.used_core_seconds / sums.seconds : 0, 2) + " cores";
    for (const auto& [name, sum] : sums.by_source)
      if (const auto one_w = watts(sum)) out += ", " + name + " " + figure(*one_w) + " W";
    out += "\n";
  }
  out += "\n";
  for (const Verdict& one : verdicts())
    out += std::string(!one.good ? "not seen" : *one.good ? "good" : "BAD") + ": " + one.what + ": " + one.found + "\n";
  return out + "\n" + (accepted() ? "accepted" : "NOT accepted") +
         "; run wattle-agent doctor to see why a source is lost\n";
}

}  // namespace wattle::agent
