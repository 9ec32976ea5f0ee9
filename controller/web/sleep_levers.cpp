#include "controller/web/sleep_levers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdio>

#include "common/stats/quantile.hpp"
#include "controller/kube/watch.hpp"
#include "controller/power/sleep_control.hpp"
#include "controller/state/cluster_state.hpp"
#include "placement/sleep/plan_saving.hpp"
#include "placement/sleep/plan_text.hpp"
#include "placement/sleep/transition_cost.hpp"
#include "provision/savings/freed_nodes.hpp"

namespace wattle::controller {

namespace core = placement::sleep;

namespace {

constexpr const char* kNoPlan = "unknown: no sleep plan has been made yet";
constexpr std::size_t kNamedMoves = 3;

std::string projected_words() { return " at " + std::to_string(std::lround(placement::kAsleepW)) + " W each"; }

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// "5 pods move: shop/web-1 to n2, ..., 2 more".
std::string moves_words(const std::vector<core::Move>& moves) {
  std::string text = counted(moves.size(), "pod") + (moves.size() == 1 ? " moves: " : " move: ");
  for (std::size_t i = 0; i < std::min(moves.size(), kNamedMoves); ++i)
    text += (i > 0 ? ", " : "") + moves[i].name + " to " + moves[i].target;
  if (moves.size() > kNamedMoves) text += ", " + std::to_string(moves.size() - kNamedMoves) + " more";
  return text;
}

void by_size(SavingLever& lever) {
  std::stable_sort(lever.items.begin(), lever.items.end(),
                   [](const auto& a, const auto& b) { return a.saved_w > b.saved_w; });
  double saved_w = 0;
  for (const SavingItem& item : lever.items) saved_w += item.saved_w.value_or(0);
  lever.nodes = lever.items.size();
  lever.saved_w = saved_w;
}

// One group for each cause, with the reason of its first node: reasons have numbers of single nodes.
void add_kept(SavingLever& lever, const std::vector<core::KeptAwake>& kept) {
  std::array<std::string, core::kExclusions> first;
  for (const core::KeptAwake& each : kept) {
    std::string& why = first[static_cast<std::size_t>(each.why.cause)];
    if (why.empty()) why = each.why.reason;
    lever.kept[why].push_back(each.node);
  }
}

// "7 nodes stay awake; reason for 5: it has pods", with the most frequent cause.
std::string kept_words(const std::vector<core::KeptAwake>& kept) {
  if (kept.empty()) return "every node that may sleep is asleep";
  std::array<std::size_t, core::kExclusions> counts{};
  for (const core::KeptAwake& each : kept) ++counts[static_cast<std::size_t>(each.why.cause)];
  const auto most = static_cast<std::size_t>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  const auto first = std::find_if(kept.begin(), kept.end(), [most](const core::KeptAwake& each) {
    return static_cast<std::size_t>(each.why.cause) == most;
  });
  return counted(kept.size(), "node") + (kept.size() == 1 ? " stays" : " stay") + " awake" +
         (kept.size() == 1              ? ": "
          : counts[most] == kept.size() ? "; reason for all: "
                                        : "; reason for " + std::to_string(counts[most]) + ": ") +
         first->why.reason;
}

// "3 MJ net of transitions (12.3 W since the first sleep), ...": times are measured, idle watts are the curves'.
std::string saved_words(const Parts& from, double saved_j) {
  const auto& history = from.sleep.history();
  std::string text = core::joules_text(saved_j) + " net of transitions";
  // The first sleep is known until transitions are dropped.
  if (const double past_s = history.empty() ? 0 : seconds(from.clock.wall() - history.front().at);
      past_s > 0 && history.size() < power::kMostTransitions) {
    std::array<char, 48> watts{};
    std::snprintf(watts.data(), watts.size(), " (%.1f W since the first sleep)", saved_j / past_s);
    text += watts.data();
  }
  const auto& records = from.sleep.records();
  const auto metered =
      std::count_if(records.begin(), records.end(), [](const auto& each) { return joules_measured(each.second); });
  return text + ", by their measured times and modelled watts; transitions are metered on " + std::to_string(metered) +
         " of " + counted(records.size(), "node");
}

std::string measured_words(const Parts& from) {
  const power::SleepTotals totals = from.sleep.totals();
  if (totals.cycles == 0) return {};
  std::string text = "no round trip is complete yet";
  if (totals.cycles > totals.tests)
    text = counted(totals.cycles - totals.tests, "round trip") + " saved " +
           saved_words(from, totals.saved_j + totals.tests_j);
  if (totals.tests > 0) text += "; " + counted(totals.tests, "test") + " cost " + core::joules_text(totals.tests_j);
  return text;
}

// Between two plans, a node of the plan has fallen asleep.
bool sleeps_already(const Parts& from, const core::SleepChoice& choice) {
  const auto found = from.sleep.records().find(choice.node);
  return found != from.sleep.records().end() && found->second.state == core::PowerState::asleep;
}

std::vector<SavingItem> items_asleep(const Parts& from) {
  std::vector<SavingItem> items;
  for (const auto& [name, record] : from.sleep.records()) {
    const Node* const node = from.state.node(name);
    if (record.state != core::PowerState::asleep || node == nullptr) continue;
    const double idle_w = from.state.view_of(*node).curve.idle_w();
    const double saved_w = std::max(0.0, idle_w - core::cost_of(record, record.depth, idle_w).asleep_w);
    items.push_back({name, record.presumed ? "sleeps, presumed" : "sleeps", saved_w, {}, {}});
  }
  return items;
}

// The choices' saving if each node slept for a short or a long time of the past, instead of its forecast.
std::vector<double> by_past_gaps_w(const Parts& from, const std::vector<const core::SleepChoice*>& choices) {
  constexpr double kShort = 0.025, kLong = 0.975;
  const std::vector<double> past_s = power::times_asleep_s(from.sleep.history());
  std::vector<double> models_w;
  for (const double share : {kShort, kLong}) {
    const auto gap_s = stats::quantile(past_s, share);
    if (!gap_s) return {};
    double sum_w = 0;
    for (const core::SleepChoice* each : choices) {
      const Node* const node = from.state.node(each->node);
      if (node == nullptr || each->gap_s <= 0) continue;
      const double idle_w = from.state.view_of(*node).curve.idle_w();
      const auto record = from.sleep.records().find(each->node);
      const core::TransitionCost cost = record == from.sleep.records().end()
                                            ? core::usual_cost(each->depth, idle_w)
                                            : core::cost_of(record->second, each->depth, idle_w);
      const double moves_j = core::saved_j(cost, idle_w, each->gap_s) - each->saved_j;
      sum_w += (core::saved_j(cost, idle_w, *gap_s) - moves_j) / std::max(*gap_s, each->gap_s);
    }
    models_w.push_back(sum_w);
  }
  return models_w;
}

SavingLever of_plan(const Parts& from, placement::LeverKind kind) {
  SavingLever lever;
  lever.kind = kind;
  lever.in_force = from.sleep.settings().mode == core::SleepMode::automatic;
  if (!from.sleep.plan()) lever.text = kNoPlan;
  return lever;
}

SavingLever planned_sleep(const Parts& from) {
  SavingLever lever = of_plan(from, placement::LeverKind::sleep);
  lever.measured = measured_words(from);
  const std::string label = from.watch.on() ? "kubectl label node NODE wattle.dev/sleep=auto"
                                            : "labels: {wattle.dev/sleep: auto} in the agent's configuration";
  lever.command =
      lever.in_force ? label + ", then wattle sleep test NODE" : "sleep.mode: auto in the controller's configuration";
  if (!from.sleep.plan()) return lever;
  lever.items = items_asleep(from);
  const std::size_t asleep = lever.items.size();
  const core::SleepPlan& plan = from.sleep.plan()->plan;
  double asleep_w = 0;
  for (const SavingItem& item : lever.items) asleep_w += item.saved_w.value_or(0);
  std::vector<const core::SleepChoice*> choices;
  for (const core::SleepChoice& each : plan.sleeps)
    if (each.moves.empty() && !sleeps_already(from, each)) {
      lever.items.push_back({each.node, each.reason, core::saved_w(each), {}, {}});
      choices.push_back(&each);
    }
  for (const double each : by_past_gaps_w(from, choices)) lever.models_w.push_back(asleep_w + each);
  const std::size_t more = choices.size();
  by_size(lever);
  add_kept(lever, plan.kept);
  if (asleep > 0) lever.text = counted(asleep, "node") + (asleep == 1 ? " sleeps; " : " sleep; ");
  lever.text += more == 0
                    ? std::string("by the sleep plan, no ") + (asleep > 0 ? "other " : "") + "empty node could sleep"
                    : "by the sleep plan, " + counted(more, "empty node") + " could sleep";
  return lever;
}

}  // namespace

std::string Asleep::text() const {
  if (nodes == 0) return {};
  return counted(nodes, "node") + (nodes == 1 ? " asleep saves " : " asleep save ") +
         std::to_string(std::lround(saved_w)) + " W, modelled";
}

Asleep asleep_now(const Parts& from) {
  Asleep now;
  for (const SavingItem& item : items_asleep(from)) {
    ++now.nodes;
    now.saved_w += item.saved_w.value_or(0);
  }
  return now;
}

ProjectedSleep project_sleep(const Parts& from, const std::string& name, const Node& node, const NodeGlance& now) {
  const placement::NodeView& view = from.state.view_of(node);
  ProjectedSleep out{name, {}, 0};
  if (now.silent)
    out.kept = "it is silent";
  else if (now.asleep)
    out.kept = "it sleeps already";
  else if (now.masked)
    out.kept = "it is cordoned, not ready or deleted";
  else if (std::any_of(node.pods.begin(), node.pods.end(), [&](const std::string& uid) {
             const Pod* pod = from.state.pod(uid);
             return pod != nullptr && !pod->spec.daemonset;
           }))
    out.kept = "it has pods";
  else if (view.in_flight > 0)
    out.kept = "it expects a pod";
  else if (!(view.allocatable.cpu_cores > 0))
    out.kept = "its size is unknown";
  const double idle_w = node.idle_w.value_or(view.curve.idle_w());
  out.saved_w = std::max(0.0, std::min(idle_w, now.power_w.value_or(idle_w)) - placement::kAsleepW);
  return out;
}

SavingLever sleep_lever(const Parts& from, const std::vector<ProjectedSleep>& projected) {
  if (from.sleep.on()) return planned_sleep(from);
  SavingLever lever;
  lever.kind = placement::LeverKind::sleep;
  for (const ProjectedSleep& each : projected) {
    if (each.kept.empty())
      lever.items.push_back({each.node, "no pods", each.saved_w, {}, {}});
    else
      lever.kept[each.kept].push_back(each.node);
  }
  by_size(lever);
  lever.text =
      (lever.items.empty() ? std::string("no node is empty")
                           : counted(lever.items.size(), "node") + " without pods could sleep" + projected_words()) +
      " (projection: sleep.mode is off)";
  lever.command = "sleep.mode: recommend in the controller's configuration";
  return lever;
}

SavingLever drain_lever(const Parts& from) {
  SavingLever lever = of_plan(from, placement::LeverKind::drain);
  lever.in_force = lever.in_force && from.watch.on();  // without an API server no pod moves
  if (!from.sleep.on()) lever.text = "unknown: sleep.mode is off";
  if (!from.sleep.plan()) return lever;
  std::size_t moves = 0;
  std::vector<const core::SleepChoice*> choices;
  for (const core::SleepChoice& each : from.sleep.plan()->plan.sleeps) {
    if (each.moves.empty() || sleeps_already(from, each)) continue;
    moves += each.moves.size();
    choices.push_back(&each);
    lever.items.push_back(
        {each.node,
         moves_words(each.moves),
         core::saved_w(each),
         {},
         from.watch.on() && !lever.in_force ? "kubectl drain --ignore-daemonsets " + each.node : std::string()});
  }
  by_size(lever);
  lever.models_w = by_past_gaps_w(from, choices);
  lever.text = lever.items.empty() ? "by the sleep plan, no node is worth emptying"
                                   : "by the sleep plan, " + counted(lever.items.size(), "node") +
                                         " could sleep after " + counted(moves, "pod") + " moved, moves deducted";
  if (!lever.items.empty()) lever.command = lever.items.front().command;
  return lever;
}

CouldSleep could_sleep(const Parts& from, const FleetSums& sums) {
  if (!from.sleep.on())
    return {sums.could_sleep, sums.could_sleep_w,
            sums.could_sleep == 0 ? "no node is without pods"
                                  : "the " + counted(sums.could_sleep, "node") +
                                        " without pods stayed empty and slept" + projected_words() + " (projection)"};
  if (!from.sleep.plan()) return {0, 0, kNoPlan};
  const core::SleepPlan& plan = from.sleep.plan()->plan;
  std::size_t nodes = 0, moves = 0;
  double saved_w = 0;
  for (const core::SleepChoice& each : plan.sleeps) {
    if (sleeps_already(from, each)) continue;
    ++nodes;
    moves += each.moves.size();
    saved_w += core::saved_w(each);
  }
  if (nodes == 0) return {0, 0, kept_words(plan.kept)};
  return {nodes, saved_w,
          "the " + counted(nodes, "node") + " of the sleep plan slept" +
              (moves == 0 ? "" : " after " + counted(moves, "pod") + " moved")};
}

}  // namespace wattle::controller
