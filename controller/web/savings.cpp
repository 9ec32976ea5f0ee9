#include "controller/web/savings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <tuple>
#include <utility>

#include "controller/decisions/decider.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/provision/replica_book.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/web/saving_json.hpp"
#include "controller/web/series.hpp"
#include "controller/web/sleep_levers.hpp"

namespace wattle::controller {
namespace {

using placement::LeverKind;

constexpr double kGiB = 1 << 30;
constexpr double kSameRequest = 0.01;  // relative; a smaller difference does not count

std::string words_of(double value, int digits, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f%s", digits, value, unit);
  return text.data();
}

std::string nodes_words(std::size_t nodes) { return std::to_string(nodes) + (nodes == 1 ? " node" : " nodes"); }

std::string workloads_words(std::size_t workloads) {
  return std::to_string(workloads) + (workloads == 1 ? " workload" : " workloads");
}

std::string size_words(const placement::Resources& of) {
  return words_of(of.cpu_cores, 3, " cores, ") + words_of(of.memory_bytes / kGiB, 2, " GiB");
}

std::string kubectl_scale(const RequestWorkload& of, std::size_t replicas) {
  return "kubectl -n " + of.name_space + " scale " + of.owner + " --replicas=" + std::to_string(replicas);
}

// A workload whose requests or replicas could change.
struct PossibleChange {
  const std::string* key = nullptr;
  const RequestWorkload* of = nullptr;
  placement::Resources right;
  std::size_t replicas = 0;  // now
};

// All inputs from which the levers are modelled.
struct Picture {
  std::vector<placement::PackedNode> nodes;
  std::vector<ProjectedSleep> projected;  // empty if there is a sleep plan
  std::vector<placement::SavingsPod> pods;
  std::vector<PossibleChange> changes, fewer;
  std::map<std::string, std::size_t> change_of;  // by workload
  std::map<std::string, std::size_t> spare;      // by workload: replicas to count as spare, as pods are found
  placement::Growth growth;
  placement::PackedNode fleet;  // all nodes as one
  double sd_w = 0, used_w = 0;  // of the curves at idle; idle minus asleep, of nodes with movable pods
  std::size_t young = 0;        // workloads with too little telemetry for a lower request
  bool some_sleep = false;
  FleetSums sums;
  std::unique_ptr<placement::FreedNodes> freed;
};

bool is_apart(double a, double b) { return std::abs(a - b) > kSameRequest * std::max({a, b, 1e-9}); }

placement::Resources hourly_size_of(const RequestWorkload& of) {
  return {of.rule.cpu_cores().value_or(of.request.cpu_cores), of.rule.memory_bytes().value_or(of.request.memory_bytes)};
}

// Requests that follow the rule up and down need no more than it suggests now; others last for days.
placement::Resources right_size_of(const RequestWorkload& of) {
  if (of.shrink_allowed && of.resizes.set > 0) return hourly_size_of(of);
  return {of.rule.lasting_cores().value_or(of.request.cpu_cores),
          of.rule.lasting_bytes().value_or(of.request.memory_bytes)};
}

void find_changes(const Parts& from, Picture& picture) {
  if (!from.requests.on()) return;
  for (const auto& [key, of] : from.requests.workloads()) {
    if (of.pods == 0 || level_apart(of) != kube::PodProvision::unsaid) continue;
    if (of.rule.lower_needs_s() > 0) ++picture.young;
    const PossibleChange change{&key, &of, right_size_of(of), 0};
    if (is_apart(change.right.cpu_cores, of.request.cpu_cores) ||
        is_apart(change.right.memory_bytes, of.request.memory_bytes)) {
      picture.change_of[key] = picture.changes.size();
      picture.changes.push_back(change);
    }
    if (!from.replicas.on() || from.replicas.state_of(key, of) != ReplicaState::fewer) continue;
    PossibleChange fewer{&key, &of, {}, from.replicas.replicas_of(key, of)};
    picture.spare[key] = fewer.replicas - from.replicas.suggested(key)->replicas;
    picture.fewer.push_back(fewer);
  }
}

// Reads the node, and the pods that could run elsewhere.
void add_node(const Parts& from, const std::string& name, const Node& node, Picture& picture) {
  const NodeGlance now = glance(from, name, node);
  const placement::NodeView& view = from.state.view_of(node);
  const std::size_t at = picture.nodes.size();
  picture.some_sleep = picture.some_sleep || view.asleep || now.asleep;
  placement::PackedNode made;
  made.allocatable = view.allocatable;
  made.fixed = {view.requested.cpu_cores + view.in_flight_request.cpu_cores,
                view.requested.memory_bytes + view.in_flight_request.memory_bytes};
  made.pod_capacity = view.pod_capacity;
  made.fixed_pods = node.pods.size() + view.in_flight;
  made.idle_w = node.idle_w.value_or(view.curve.idle_w());
  if (now.power_w && !now.asleep) made.idle_w = std::min(made.idle_w, *now.power_w);
  picture.fleet.allocatable.cpu_cores += made.allocatable.cpu_cores;
  picture.fleet.allocatable.memory_bytes += made.allocatable.memory_bytes;
  picture.fleet.idle_w += made.idle_w;
  picture.sd_w += (now.estimated ? placement::PowerCurve::prior(made.allocatable.cpu_cores) : view.curve).watts_sd_w(0);
  std::size_t others = 0, movable = 0;
  for (const std::string& uid : node.pods) {
    const Pod* pod = from.state.pod(uid);
    if (pod == nullptr || pod->spec.daemonset) continue;
    ++movable;
    if (!pod->watched) {
      ++others;
      continue;
    }
    --made.fixed_pods;
    made.fixed.cpu_cores -= pod->spec.request.cpu_cores;
    made.fixed.memory_bytes -= pod->spec.request.memory_bytes;
    placement::SavingsPod counted{at, pod->spec.request, pod->spec.request};
    if (const std::string* key = from.requests.workload_with(uid); key != nullptr) {
      if (const auto change = picture.change_of.find(*key); change != picture.change_of.end()) {
        counted.change = change->second;
        const PossibleChange& to = picture.changes[change->second];
        counted.right = to.right;
        counted.hourly = hourly_size_of(*to.of);
      }
      if (const auto spare = picture.spare.find(*key); spare != picture.spare.end() && spare->second > 0) {
        --spare->second;
        counted.spare = true;
      }
    }
    picture.pods.push_back(counted);
  }
  made.open =
      !now.silent && !now.asleep && !now.masked && others == 0 && view.in_flight == 0 && view.allocatable.cpu_cores > 0;
  picture.growth.movable_pods += static_cast<double>(movable);
  if (movable > 0) picture.used_w += std::max(0.0, made.idle_w - placement::kAsleepW);
  picture.nodes.push_back(made);
  if (!from.sleep.on()) picture.projected.push_back(project_sleep(from, name, node, now));
}

std::string given_up_words(const ResizeCounts& resizes, const placement::PackedNode& fleet) {
  if (resizes.set == 0) return {};
  const double worth_w = share_of_node(fleet, resizes.given_up) * fleet.idle_w;
  return std::to_string(resizes.set) + (resizes.set == 1 ? " pod has" : " pods have") +
         " requests set by Wattle and gave up " + size_words(resizes.given_up) +
         ", a share of the nodes that idles at " + words_of(worth_w, 1, " W by their curves");
}

SavingLever requests_lever(const Parts& from, const Picture& picture) {
  SavingLever lever;
  lever.kind = LeverKind::requests;
  if (!from.requests.on()) {
    lever.text = "unknown: provisioning.level is off";
    return lever;
  }
  if (from.requests.workloads().empty()) {
    lever.text = "unknown: no workload is known (an API server names them: kubernetes.watch)";
    return lever;
  }
  lever.measured = given_up_words(from.requests.totals().resizes, picture.fleet);
  lever.nodes = picture.freed->requests().nodes;
  lever.saved_w = picture.freed->requests().saved_w;
  lever.models_w = picture.freed->requests_by_share_w();
  std::size_t held = 0;
  const auto& ranked = picture.freed->ranked();
  for (std::size_t k = 0; k < ranked.size(); ++k) {
    const PossibleChange& change = picture.changes[ranked[k]];
    SavingItem item{*change.key,
                    std::to_string(change.of->pods) + (change.of->pods == 1 ? " pod: " : " pods: ") +
                        size_words(change.of->request) + " -> " + size_words(change.right),
                    {},
                    {},
                    "wattle savings --patch " + *change.key};
    if (k < picture.freed->freed_after().size()) item.nodes = picture.freed->freed_after()[k];
    const bool lower = change.right.cpu_cores < change.of->original.cpu_cores ||
                       change.right.memory_bytes < change.of->original.memory_bytes;
    if (lower && !change.of->shrink_allowed) {
      item.text += "; only by its template, or with wattle.dev/shrink: allowed";
      ++held;
    }
    lever.items.push_back(std::move(item));
  }
  if (!lever.items.empty())
    lever.command = "wattle provision set --namespace NAMESPACE, or wattle savings --patch WORKLOAD";
  lever.text = lever.items.empty() ? "no workload has a suggested change"
                                   : "with changes to " + workloads_words(lever.items.size()) + ", " +
                                         nodes_words(*lever.nodes) + " can sleep once pods are packed again";
  if (picture.young > 0)
    lever.text += "; " + workloads_words(picture.young) + " too new to lower: less than half a day of telemetry";
  if (held > 0) lever.text += "; `wattle provision set` may not shrink " + workloads_words(held);
  return lever;
}

SavingLever replicas_lever(const Parts& from, const Picture& picture) {
  SavingLever lever;
  lever.kind = LeverKind::replicas;
  if (!from.replicas.on()) {
    lever.text = "unknown: needs provisioning.replicas and provisioning.prometheus.rate_query";
    return lever;
  }
  lever.nodes = picture.freed->replicas().nodes;
  lever.saved_w = picture.freed->replicas().saved_w;
  lever.models_w = picture.freed->replicas_by_share_w();
  lever.measured = "nothing, because replicas before a change are not recorded";
  for (const PossibleChange& fewer : picture.fewer) {
    const std::size_t wanted = from.replicas.suggested(*fewer.key)->replicas;
    lever.items.push_back({*fewer.key,
                           std::to_string(fewer.replicas) + " -> " + std::to_string(wanted) + " replicas",
                           {},
                           {},
                           kubectl_scale(*fewer.of, wanted)});
  }
  if (!lever.items.empty()) lever.command = "kubectl scale, or wattle savings --patch WORKLOAD";
  lever.text = lever.items.empty() ? "no workload has more replicas than it needs"
                                   : "with fewer replicas of " + workloads_words(lever.items.size()) + ", " +
                                         nodes_words(*lever.nodes) + " can sleep once pods are packed again";
  return lever;
}

SavingLever placement_lever(const Parts& from) {
  SavingLever lever;
  lever.kind = LeverKind::placement;
  const SavingNow saving = saving_now(from);
  lever.text = saving.placement_text();
  lever.in_force = saving.acting;
  if (const auto shown = saving.shown()) {
    lever.saved_w = shown->placement_w();
    if (shown->ratio.known()) {
      lever.low_w = shown->default_w * shown->ratio.low - shown->asleep_w;
      lever.high_w = shown->default_w * shown->ratio.high - shown->asleep_w;
    }
  }
  if (from.decider.spec().mode.mode != Mode::live && lever.saved_w.value_or(0) >= 0)
    lever.command = "wattle policy promote";
  if (!lever.low_w) lever.no_interval = lever.saved_w ? "too few decisions" : "no estimate yet";
  const EffectEstimate effect = from.rollout.effect();
  constexpr double kPercent = 100;
  if (effect.ratio && effect.low && effect.high)
    lever.measured = "the canary saved " + words_of(kPercent * *effect.ratio, 1, "% [") +
                     words_of(kPercent * *effect.low, 1, ", ") + words_of(kPercent * *effect.high, 1, "%] in ") +
                     std::to_string(effect.treated) + " blocks";
  return lever;
}

// The placement lever has the interval of its own model.
void add_intervals(const Parts& from, Picture& picture, std::vector<SavingLever>& levers) {
  constexpr auto kPods = static_cast<std::size_t>(
      std::find(FleetHistory::kValues.begin(), FleetHistory::kValues.end(), "pods") - FleetHistory::kValues.begin());
  placement::Growth& growth = picture.growth;
  for (const FleetHistory::Slot& hour : from.series.fleet().hours().slots)
    growth.hourly_pods.push_back(static_cast<double>(hour.values[kPods]));
  const auto nodes = static_cast<double>(picture.nodes.size());
  const double most_w = std::max(0.0, picture.fleet.idle_w - placement::kAsleepW * nodes);
  growth.curve_sd_ratio = picture.fleet.idle_w > 0 ? picture.sd_w / picture.fleet.idle_w : 0;
  growth.node_w = nodes > 0 ? most_w / nodes : 0;
  for (SavingLever& lever : levers) {
    if (lever.kind == LeverKind::placement) continue;
    const bool empties = lever.kind == LeverKind::sleep || lever.kind == LeverKind::drain;
    const double saved_w = lever.saved_w.value_or(0);
    const auto interval =
        placement::interval_of(saved_w, empties ? growth.of_empty(lever.models_w, picture.used_w, most_w)
                                                : growth.of_changes(saved_w, lever.models_w));
    if (!lever.saved_w)
      lever.no_interval = "no estimate yet";
    else if (!interval)
      lever.no_interval = placement::kTooFewHours;
    else
      std::tie(lever.low_w, lever.high_w) = std::pair(interval->low, interval->high);
  }
}

void conclude(const Parts& from, Picture& picture, SavingsNow& now) {
  now.power_w = picture.sums.power_w();
  now.levers = {sleep_lever(from, picture.projected), drain_lever(from), requests_lever(from, picture),
                replicas_lever(from, picture), placement_lever(from)};
  add_intervals(from, picture, now.levers);
  std::vector<placement::LeverSaving> savings(now.levers.begin(), now.levers.end());
  now.sum = placement::sum_of(savings, {picture.freed->both().saved_w, picture.some_sleep}, now.power_w);
  placement::order_by_size(savings);
  std::vector<SavingLever> ordered;
  for (const placement::LeverSaving& each : savings)
    ordered.push_back(*std::find_if(now.levers.begin(), now.levers.end(),
                                    [&](const SavingLever& lever) { return lever.kind == each.kind; }));
  now.levers = std::move(ordered);
}

}  // namespace

Steps find_savings(const Parts& from, std::shared_ptr<SavingsNow> now) {
  const auto picture = std::make_shared<Picture>();
  const auto sums = std::make_shared<FleetSums>();
  const auto begin = [&from, picture] {
    find_changes(from, *picture);
    return false;
  };
  const Steps nodes = each_of(
      from.state.nodes(), [&from, picture](const auto& item) { add_node(from, item.first, item.second, *picture); });
  const auto pack = [picture, sums]() -> Steps {
    picture->sums = *sums;
    picture->freed = std::make_unique<placement::FreedNodes>(picture->nodes, picture->pods, picture->changes.size());
    return [picture] { return picture->freed->step(); };
  };
  return then(in_order({sum_fleet(from, sums), begin, nodes}), [=, &from]() -> Steps {
    return in_order({pack(), [picture, now, &from] {
                       conclude(from, *picture, *now);
                       return false;
                     }});
  });
}

}  // namespace wattle::controller
