// world_trouble: executes the world's faults and false reports.
#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "sim/world/world.hpp"

namespace wattle::sim {

namespace {

bool within(double now_s, double from_s, double to_s) { return now_s >= from_s && now_s < to_s; }

// Population standard deviation, over percentages of the nodes' own capacities.
double deviation(const std::vector<double>& values) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size()));
}

}  // namespace

void World::schedule_troubles() {
  const FaultPlan& trouble = options_.trouble;
  const auto at = [](double s) { return MonoTime(from_seconds(s)); };
  for (std::size_t i = 0; i < trouble.shifts.size(); ++i) {
    assert(trouble.shifts[i].node < nodes_.size());
    schedule(at(trouble.shifts[i].at_s), What::shift, i);
  }
  for (std::size_t i = 0; i < trouble.curve_changes.size(); ++i) {
    assert(trouble.curve_changes[i].node < nodes_.size());
    schedule(at(trouble.curve_changes[i].at_s), What::curve, i);
  }
  for (std::size_t i = 0; i < trouble.outages.size(); ++i) {
    const Outage& outage = trouble.outages[i];
    assert(outage.node < nodes_.size() && outage.to_s > outage.from_s);
    schedule(at(outage.from_s), What::gone, i);
    if (outage.from_s + options_.notice_s < outage.to_s)
      schedule(at(outage.from_s + options_.notice_s), What::noticed, i);
    schedule(at(outage.to_s), What::back, i);
  }
}

void World::handle_trouble(const Event& event) {
  const FaultPlan& trouble = options_.trouble;
  if (event.what == What::shift) {
    const LatencyShift& shift = trouble.shifts[event.who];
    kernel_.settle(shift.node, *this);
    nodes_[shift.node].spec.latency_ms = shift.latency_ms;
    return kernel_.update(shift.node, *this);
  }
  if (event.what == What::curve) {
    const CurveChange& change = trouble.curve_changes[event.who];
    nodes_[change.node].spec.server.watts = change.watts;
    return kernel_.set_watts(change.node, change.watts, *this);
  }
  const std::size_t at = trouble.outages[event.who].node;
  Node& node = nodes_[at];
  if (event.what == What::gone) {
    kernel_.fail(at, *this);
  } else if (event.what == What::noticed) {
    node.ready = false;
    node.kube.allocatable_pods = 0;  // the taint of a node that is not ready
    lose_pods(at);
  } else {
    node.ready = true;
    node.kube.allocatable_pods = options_.pod_capacity;
    open_windows(at);
    kernel_.repair(at, *this);
  }
}

void World::lose_pods(std::size_t at) {
  const auto dead = kernel_.node(at).pods;
  const auto paces = kernel_.node(at).paces;
  for (std::size_t k = 0; k < dead.size(); ++k) {
    const auto& each = dead[k];
    SimPod again = pods_.at(each.id).pod;
    const double left_s = paces.empty() || paces[k].endless ? again.life_s - seconds(now() - each.placed)
                                                            : seconds(paces[k].ends - now());
    again.life_s = std::max(1.0, left_s);
    lost_.push_back(std::move(again));
    ++figures_.lost_pods;
    kernel_.remove(each.id, *this);
  }
}

std::vector<SimPod> World::take_lost() { return std::exchange(lost_, {}); }

bool World::silent(std::size_t node) const {
  if (kernel_.node(node).power == Power::gone) return true;
  return std::any_of(options_.trouble.silences.begin(), options_.trouble.silences.end(),
                     [&](const Silence& each) { return each.node == node && within(now_s(), each.from_s, each.to_s); });
}

void World::lie(std::vector<AgentReport>& batch) {
  if (options_.trouble.lies.empty()) return;
  const std::vector<AgentReport> truth = batch;
  for (const TelemetryFault& each : options_.trouble.lies) {
    if (now_s() < each.from_s) continue;
    AgentReport& reported = batch[each.node];
    switch (each.kind) {
      case LieKind::frozen: {
        std::optional<AgentReport>& frozen = nodes_[each.node].frozen;
        if (!frozen) frozen = reported;
        const MonoTime at = reported.at;
        reported = *frozen;
        reported.at = at;
        break;
      }
      case LieKind::scaled:
        reported.used_cores *= each.factor;
        reported.power_w *= each.factor;
        for (PodUse& use : reported.pods) use.cores *= each.factor;
        break;
      case LieKind::swapped:
        reported.used_cores = truth[each.other].used_cores;
        reported.power_w = truth[each.other].power_w;
        break;
    }
  }
}

void World::judge_balance(const std::vector<AgentReport>& batch) {
  std::array<std::vector<double>, 6> pct;
  for (auto& each : pct) each.reserve(batch.size());
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const NodeSpec& spec = nodes_[i].spec;
    const AgentReport& reported = batch[i];
    pct[0].push_back(100 * reported.used_cores / spec.server.cores);
    pct[1].push_back(100 * reported.memory_used_bytes / spec.server.memory_bytes);
    pct[2].push_back(100 * reported.io.net_rx / spec.net_bytes_per_s);
    pct[3].push_back(100 * reported.io.net_tx / spec.net_bytes_per_s);
    pct[4].push_back(100 * reported.io.disk_read / spec.disk_bytes_per_s);
    pct[5].push_back(100 * reported.io.disk_write / spec.disk_bytes_per_s);
  }
  for (const auto& each : pct) figures_.imbalance_pct_s += deviation(each) * options_.telemetry_period_s;
}

}  // namespace wattle::sim
