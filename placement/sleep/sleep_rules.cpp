#include "placement/sleep/sleep_rules.hpp"

#include <algorithm>
#include <array>

namespace wattle::placement::sleep {

namespace {

constexpr std::array<std::string_view, 3> kModeNames{"off", "recommend", "auto"};
constexpr std::array<std::string_view, kExclusions> kCauseNames{"none",           "mode_off",   "only_recommended",
                                                                "unproven",       "state",      "not_ready",
                                                                "no_driver",      "no_wake",    "operator",
                                                                "control_plane",  "controller", "scheduler",
                                                                "local_volume",   "bare_pod",   "undisruptable_pod",
                                                                "budget",         "inhibitor",  "woken_recently",
                                                                "cycles",         "has_pods",   "last_of_zone",
                                                                "last_of_class",  "spare",      "gap",
                                                                "saving",         "no_target",  "rate",
                                                                "moved_recently", "one_drain",  "constrained_pod",
                                                                "other_drain"};

std::string minutes(Duration time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::minutes>(time).count()) + " min";
}

Exclusion excluded_by_role(const SleepFacts& facts) {
  if (!facts.excluded_by.empty()) return {ExcludedFor::operator_, "it is excluded: " + facts.excluded_by};
  if (!facts.held_by.empty()) return {ExcludedFor::other_drain, facts.held_by};
  if (facts.control_plane) return {ExcludedFor::control_plane, "it runs the control plane"};
  if (facts.runs_controller) return {ExcludedFor::controller, "it runs Wattle's controller"};
  if (facts.runs_scheduler) return {ExcludedFor::scheduler, "it runs the last scheduler"};
  return {};
}

Exclusion excluded_by_pods(const SleepFacts& facts) {
  if (!facts.local_volume_pod.empty())
    return {ExcludedFor::local_volume, "pod " + facts.local_volume_pod + " has a local volume"};
  if (!facts.bare_pod.empty())
    return {ExcludedFor::bare_pod, "pod " + facts.bare_pod + " has no owner that would replace it"};
  if (!facts.undisruptable_pod.empty())
    return {ExcludedFor::undisruptable_pod, "pod " + facts.undisruptable_pod + " must not be disrupted"};
  if (!facts.constrained_pod.empty())
    return {ExcludedFor::constrained_pod,
            "pod " + facts.constrained_pod + " has a hard constraint that other nodes may not satisfy"};
  if (!facts.unsatisfied_budget.empty())
    return {ExcludedFor::budget, "disruption budget " + facts.unsatisfied_budget + " allows no eviction now"};
  if (!facts.inhibitor.empty())
    return {ExcludedFor::inhibitor, facts.inhibitor + " holds a lock against sleep (systemd-inhibit --list)"};
  return {};
}

}  // namespace

std::string_view to_string(SleepMode mode) { return kModeNames[static_cast<std::size_t>(mode)]; }
std::string_view to_string(ExcludedFor cause) { return kCauseNames[static_cast<std::size_t>(cause)]; }

Exclusion excluded_alone(const SleepFacts& facts, const NodePowerRecord& record, WallTime now, const SleepRules& rules,
                         bool recommending) {
  if (facts.mode == SleepMode::off) return {ExcludedFor::mode_off, "it is not labelled to sleep"};
  if (record.state != PowerState::awake)
    return {ExcludedFor::state, "it is " + std::string(to_string(record.state)) +
                                    (record.reason.empty() ? std::string() : ": " + record.reason)};
  if (record.marked) return {ExcludedFor::state, "its marks are being removed"};
  if (!facts.can_sleep)
    return {ExcludedFor::no_driver, facts.driver_problem.empty() ? "no power driver can put it to sleep (" +
                                                                       std::string(to_string(facts.depth)) + ")"
                                                                 : facts.driver_problem};
  if (!facts.can_wake) return {ExcludedFor::no_wake, "no power driver can wake it"};
  if (Exclusion by_role = excluded_by_role(facts)) return by_role;
  if (Exclusion by_pods = excluded_by_pods(facts)) return by_pods;
  if (record.last_woken && !record.test && now - *record.last_woken < rules.stay_awake && now >= *record.last_woken)
    return {ExcludedFor::woken_recently, "it woke less than " + minutes(rules.stay_awake) + " ago"};
  if (cycles_on_day(record, now) >= rules.cycles_per_day)
    return {ExcludedFor::cycles, "it slept " + std::to_string(rules.cycles_per_day) + " times today"};
  if (recommending) return {};
  if (facts.mode == SleepMode::recommend) return {ExcludedFor::only_recommended, "its label only recommends sleep"};
  if (record.round_trips < rules.proven_round_trips)
    return {ExcludedFor::unproven, "it has " + std::to_string(record.round_trips) + " of " +
                                       std::to_string(rules.proven_round_trips) + " proven round trips"};
  return {};
}

int& LastOfKind::count(std::vector<Count>& counts, const std::string& kind) {
  const auto found = std::find_if(counts.begin(), counts.end(), [&](const Count& each) { return each.kind == kind; });
  return found != counts.end() ? found->awake : counts.emplace_back(Count{kind, 0}).awake;
}

int LastOfKind::awake(const std::vector<Count>& counts, const std::string& kind) {
  for (const Count& each : counts)
    if (each.kind == kind) return each.awake;
  return 0;
}

void LastOfKind::add(const SleepFacts& facts, int sign) {
  if (!facts.zone.empty()) count(zones_, facts.zone) += sign;
  if (!facts.device_class.empty()) count(classes_, facts.device_class) += sign;
}

Exclusion LastOfKind::excluded(const SleepFacts& facts) const {
  if (!facts.zone.empty() && awake(zones_, facts.zone) <= 1)
    return {ExcludedFor::last_of_zone, "it is the last awake node of zone " + facts.zone};
  if (!facts.device_class.empty() && awake(classes_, facts.device_class) <= 1)
    return {ExcludedFor::last_of_class, "it is the last awake node of class " + facts.device_class};
  return {};
}

Resources spare_needed(const Fleet& fleet, std::span<const char> awake, const Resources& largest_pending,
                       const std::optional<Resources>& covering, const SleepRules& rules) {
  Resources sum, all, spare = largest_pending;
  double nodes = 0;
  for (std::size_t row = 0; row < fleet.nodes.size(); ++row) {
    const FleetNode& node = fleet.nodes[row];
    all.cpu_cores += node.allocatable.cpu_cores;
    all.memory_bytes += node.allocatable.memory_bytes;
    if (!awake[row]) continue;
    nodes += 1;
    sum.cpu_cores += node.allocatable.cpu_cores;
    sum.memory_bytes += node.allocatable.memory_bytes;
    if (!rules.survive_node_loss || !covering) continue;
    spare.cpu_cores = std::max(spare.cpu_cores, node.requested.cpu_cores - covering->cpu_cores);
    spare.memory_bytes = std::max(spare.memory_bytes, node.requested.memory_bytes - covering->memory_bytes);
  }
  if (nodes == 0) {  // sleeping nodes then serve as spares; one node always stays awake
    const double count = static_cast<double>(std::min(std::max<std::size_t>(rules.spare_nodes, 1), fleet.nodes.size()));
    const double share = count / std::max(1.0, static_cast<double>(fleet.nodes.size()));
    spare.cpu_cores = std::max(spare.cpu_cores, share * all.cpu_cores);
    spare.memory_bytes = std::max(spare.memory_bytes, share * all.memory_bytes);
    return spare;
  }
  const double share = std::max(rules.spare_ratio, std::min(1.0, static_cast<double>(rules.spare_nodes) / nodes));
  spare.cpu_cores = std::max(spare.cpu_cores, share * sum.cpu_cores);
  spare.memory_bytes = std::max(spare.memory_bytes, share * sum.memory_bytes);
  return spare;
}

}  // namespace wattle::placement::sleep
