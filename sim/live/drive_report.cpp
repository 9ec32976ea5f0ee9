#include "sim/live/drive_report.hpp"

#include <algorithm>
#include <cmath>

#include "common/formatted.hpp"
#include "common/json/value.hpp"
#include "placement/sleep/transition_cost.hpp"
#include "sim/live/server_switch.hpp"

namespace wattle::sim::live {

using json = SortedJson;

namespace {

constexpr const char* kHow =
    "Wattle: the nodes that pods were really bound to. Default: the same pods, created and removed at the same "
    "moments, bound by LeastAllocated + BalancedAllocation alone (kube-scheduler's integer arithmetic, ties at random) "
    "to nodes that start equal and all stay on. Both: joules = integral over the run of the sum over nodes of "
    "watts(cores in use / cores), on each simulated node's true eleven-point curve, cores in use = its background + "
    "its pods' demand; this machine, whose true curve is unknown, counts in both with the typical curve for its number "
    "of cores. Above idle: minus the same nodes without pods. A simulated node that sleeps draws the published watts "
    "of a server that is off; each shutdown and boot adds its published joules, in a shorter time. Latencies are the "
    "simulated nodes' true ones and this machine's measured one, at the same moments for both. While the default "
    "scheduler decides, only its random ties differ; each phase begins with the pods of the previous one. One run, no "
    "interval: a demonstration, not a measurement.";

std::string number(const std::optional<double>& value, int digits) { return value ? fixed(*value, digits) : "-"; }

// A text after its title, broken at spaces; further lines begin below the text's first.
std::string hanging(std::string_view title, std::string_view text) {
  constexpr std::size_t kWidth = 100;
  std::string out(title), indent(title.size(), ' ');
  while (title.size() + text.size() > kWidth) {
    const auto at = text.rfind(' ', kWidth - title.size());
    if (at == std::string_view::npos) break;
    out += std::string(text.substr(0, at)) + "\n" + indent;
    text.remove_prefix(at + 1);
  }
  return out + std::string(text) + "\n";
}

double change_percent(double value, double against) { return against > 0 ? (value / against - 1) * 100 : 0; }

unsigned long long whole(std::uint64_t value) { return value; }

const ControllerNode* seen(const Driver& driver, const std::string& name) {
  for (const ControllerNode& row : driver.observer().nodes)
    if (row.name == name) return &row;
  return nullptr;
}

std::optional<double> reward(const Driver& driver) {
  return driver.observer().status ? driver.observer().status->mean_reward : std::nullopt;
}
std::optional<double> loss(const Driver& driver) {
  return driver.observer().status ? driver.observer().status->loss : std::nullopt;
}

std::string answers(const Driver& driver) {
  const AnswerCounts& counts = driver.extender().counts();
  return formatted("%llu with advice, %llu without (in mode shadow Wattle only watches), %llu missing, %llu malformed",
                   whole(counts.advised), whole(counts.neutral), whole(counts.unanswered), whole(counts.malformed));
}

// "the policy node-order-costs: no other candidate has ..."
std::string decided_by(const Driver& driver) {
  if (!driver.observer().status || driver.observer().status->decided_by.empty()) return "no decisions yet";
  return driver.observer().status->decides;
}

double rate(const Driver& driver) {
  const Costs& costs = driver.wattle().costs();
  return costs.seconds > 0 ? static_cast<double>(costs.placements) / costs.seconds : 0;
}

json costs_json(const Costs& costs) {
  return {{"placements", costs.placements},       {"energy_j", costs.energy_j},
          {"idle_energy_j", costs.idle_energy_j}, {"transitions_j", costs.transitions_j},
          {"shutdowns", costs.shutdowns},         {"boots", costs.boots}};
}

// One row per phase that took place.
std::string phases_text(const Driver& driver) {
  std::string out = formatted("  %-20s %8s %12s %14s %9s %22s\n", "phase", "seconds", "watts", "by default, W",
                              "change", "pod-s above soft limit");
  for (std::size_t i = 0; i < driver.phases().size(); ++i) {
    const Driver::PhaseCosts& phase = driver.phases()[i];
    if (!(phase.seconds > 0)) continue;
    out += formatted("  %-20s %8.0f %12.1f %14.1f %+8.1f%% %7.0f, by default %.0f\n", Driver::kPhases[i], phase.seconds,
                     phase.energy_j / phase.seconds, phase.default_energy_j / phase.seconds,
                     change_percent(phase.energy_j, phase.default_energy_j), phase.soft_pod_seconds,
                     phase.default_soft_pod_seconds);
  }
  return out;
}

json phases_json(const Driver& driver) {
  json list = json::array();
  for (std::size_t i = 0; i < driver.phases().size(); ++i) {
    const Driver::PhaseCosts& phase = driver.phases()[i];
    list.push_back(
        {{"phase", Driver::kPhases[i]},
         {"seconds", phase.seconds},
         {"energy_j", phase.energy_j},
         {"default_energy_j", phase.default_energy_j},
         {"without_learning_energy_j", driver.twin() == nullptr ? json(nullptr) : json(phase.twin_energy_j)}});
  }
  return list;
}

// The modelled saving and the alarms, each with its title.
std::vector<std::pair<std::string, std::string>> notices(const Driver& driver) {
  std::vector<std::pair<std::string, std::string>> out;
  if (!driver.observer().status) return out;
  const ControllerStatus& status = *driver.observer().status;
  if (!status.saving.empty()) out.emplace_back("saving", status.saving);
  for (const std::string& alarm : status.alarms) out.emplace_back("alarm", alarm);
  return out;
}

json optional_json(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

// The contribution of learning to the joules while Wattle acted and no node slept, because the two differ in which node
// happens to be empty first. A negative value is a saving.
std::string learning_text(const Driver& driver) {
  if (driver.twin() == nullptr) return {};
  double energy_j = 0, without_j = 0, acted_s = 0;
  for (std::size_t i = 1; i <= Driver::kLearned; ++i) {
    const Driver::PhaseCosts& phase = driver.phases()[i];
    acted_s += phase.seconds;
    energy_j += phase.energy_j;
    without_j += phase.twin_energy_j;
  }
  if (!(acted_s > 0)) return {};
  const double served_s = driver.phases()[Driver::kLearned].seconds;
  return hanging("", formatted("Learning. It changed the energy by %+.1f%% (%+.0f J in the %.0f s before nodes slept) "
                               "against a Wattle without "
                               "learning that placed the same pods on equal simulated nodes beside the demo; negative "
                               "saves. ",
                               change_percent(energy_j, without_j), energy_j - without_j, acted_s) +
                         (served_s > 0 ? formatted("A learned network served for %.0f s.", served_s)
                                       : "No learned network served, so there was no phase \"" +
                                             std::string(Driver::kPhases[Driver::kLearned]) +
                                             "\": blocks of 30 minutes must first show that it saves energy."));
}

// Time that a node of mean idle power must sleep to save its round trip.
double break_even_s(const Driver& driver) {
  double idle_w = 0, count = 0;
  for (const DriveNode& node : driver.nodes()) {
    idle_w += node.real ? 0 : node.server.watts_at(node.background_cores / node.server.cores);
    count += node.real ? 0 : 1;
  }
  idle_w /= std::max(1.0, count);
  using namespace placement::sleep;
  return placement::sleep::break_even_s(usual_cost(Depth::off, idle_w), idle_w);
}

// The saving by nodes that sleep, and its cost; empty if none did.
std::string sleep_text(const Driver& driver) {
  const Driver::PhaseCosts& phase = driver.phases()[Driver::kSleeping];
  const Costs& costs = driver.wattle().costs();
  if (!(phase.seconds > 0)) return {};
  return hanging("", formatted("Sleep. In the %.0f s in which idle nodes slept, the nodes drew %.0f W, and %.0f W by "
                               "default with all nodes on "
                               "(%+.1f%%). The published joules of transitions are included: %llu x %.0f J for "
                               "shutdowns, %llu x %.0f J for "
                               "boots. Simulated nodes shorten the time of a transition, not its joules: a shutdown "
                               "and a boot pay after %.0f "
                               "minutes of sleep.",
                               phase.seconds, phase.energy_j / phase.seconds, phase.default_energy_j / phase.seconds,
                               change_percent(phase.energy_j, phase.default_energy_j), whole(costs.shutdowns),
                               ServerSwitch::shutdown_j(), whole(costs.boots), ServerSwitch::boot_j(),
                               std::ceil(break_even_s(driver) / 60)));
}

// "Wattle places; 380 W so far, by default 390 W (-2.6%)". In the first phase both are the default scheduler.
std::string phase_now(const Driver& driver) {
  const Driver::PhaseCosts& phase = driver.phases()[driver.phase()];
  std::string out = Driver::kPhases[driver.phase()];
  if (phase.seconds > 0)
    out += formatted("; %.0f W so far, by default %.0f W (%+.1f%%%s)", phase.energy_j / phase.seconds,
                     phase.default_energy_j / phase.seconds, change_percent(phase.energy_j, phase.default_energy_j),
                     driver.phase() == 0                   ? ": its random ties"
                     : driver.phase() == Driver::kSleeping ? ", shutdowns and boots included"
                                                           : "");
  return out;
}

// The state of a node for people, after its row.
std::string remark(const DriveNode& node, const ControllerNode* row) {
  if (node.real) return "  this machine";
  if (row == nullptr) return "  not connected";
  if (!row->power_state.empty() && row->power_state != "awake") return "  " + row->power_state;
  return row->connected ? "" : "  not connected";
}

// Summary of the saving and its cost, over the phases in which Wattle acted.
std::string in_short(const Driver& driver) {
  Driver::PhaseCosts sum;
  for (std::size_t i = 1; i < driver.phases().size(); ++i) {
    const Driver::PhaseCosts& phase = driver.phases()[i];
    sum.seconds += phase.seconds;
    sum.energy_j += phase.energy_j;
    sum.default_energy_j += phase.default_energy_j;
    sum.soft_pod_seconds += phase.soft_pod_seconds;
    sum.default_soft_pod_seconds += phase.default_soft_pod_seconds;
  }
  if (!(sum.seconds > 0)) return "In short. Wattle did not act in this run: the default scheduler placed all pods.";
  const double saved_j = sum.default_energy_j - sum.energy_j;
  const double late_s = sum.soft_pod_seconds - sum.default_soft_pod_seconds;
  return formatted(
      "In short. In the %.0f s in which Wattle acted, the nodes used %.0f J %s than if the default scheduler had "
      "placed the same pods (%+.1f%%). Pods spent %.0f s %s above their soft latency limit.",
      sum.seconds, std::abs(saved_j), saved_j >= 0 ? "less" : "more",
      change_percent(sum.energy_j, sum.default_energy_j), std::abs(late_s), late_s > 0 ? "more" : "less");
}

}  // namespace

std::string live_table(const Driver& driver) {
  std::string out = formatted("%.0f s, %.0f s left%s\n\n", driver.elapsed_s(), std::max(0.0, driver.left_s()),
                              driver.observer().controller_away ? "   the controller does not answer" : "");
  out += formatted("%-16s %10s %-10s %5s %13s %11s\n", "NODE", "WATTS", "SOURCE", "PODS", "CPU cores", "LATENCY ms");
  for (std::size_t i = 0; i < driver.nodes().size(); ++i) {
    const DriveNode& node = driver.nodes()[i];
    const ControllerNode* const row = seen(driver, node.server.name);
    const std::string cpu = row != nullptr && row->cpu_used_cores
                                ? formatted("%.2f / %.0f", *row->cpu_used_cores, node.server.cores)
                                : formatted("- / %.0f", node.server.cores);
    out += formatted("%-16s %10s %-10s %5zu %13s %11s%s\n", node.server.name.c_str(),
                     number(row != nullptr ? row->power_w : std::nullopt, 1).c_str(),
                     row != nullptr ? row->energy_source.c_str() : "-", driver.wattle().pods_on(i), cpu.c_str(),
                     number(row != nullptr ? row->latency_ms : std::nullopt, 1).c_str(), remark(node, row).c_str());
  }
  const Costs& wattle = driver.wattle().costs();
  const Costs& other = driver.by_default().costs();
  out += formatted("\nphase:      %s\n", phase_now(driver).c_str());
  out += hanging("decided by: ", decided_by(driver));
  for (const auto& [title, text] : notices(driver)) out += hanging(formatted("%-12s", (title + ":").c_str()), text);
  out += formatted("all phases: %.0f kJ, by default %.0f kJ (%+.1f%%)\n", wattle.energy_j / 1000, other.energy_j / 1000,
                   change_percent(wattle.energy_j, other.energy_j));
  out += formatted("pods:       %zu run, %zu placed; on a node above their hard latency limit: %zu, by default %zu\n",
                   driver.running(), wattle.placements, wattle.above_hard, other.above_hard);
  return out;
}

std::string live_line(const Driver& driver) {
  std::optional<double> power_w;
  for (const ControllerNode& row : driver.observer().nodes)
    if (row.connected && row.power_w) power_w = power_w.value_or(0) + *row.power_w;
  const Costs& wattle = driver.wattle().costs();
  std::string out =
      formatted(
          "t=%.0fs controller=%s pods=%zu placed=%zu asleep=%zu watts=%s answer_p99_ms=%.2f reward=%s loss=%s "
          "gradient_steps=%llu above_hard=%zu unanswered=%llu; phase: ",
          driver.elapsed_s(), driver.observer().controller_away ? "away" : "up", driver.running(), wattle.placements,
          driver.observer().closed.size(), number(power_w, 1).c_str(), driver.extender().answer_ms(0.99),
          number(reward(driver), 3).c_str(), number(loss(driver), 4).c_str(),
          driver.observer().status ? whole(driver.observer().status->gradient_steps) : 0ULL, wattle.above_hard,
          whole(driver.extender().counts().unanswered)) +
      phase_now(driver);
  for (const auto& [title, text] : notices(driver)) out.append("; ").append(title).append(": ").append(text);
  return out;
}

std::string summary_text(const Driver& driver) {
  const Costs& wattle = driver.wattle().costs();
  const Costs& other = driver.by_default().costs();
  const Driver::Counts& counts = driver.counts();
  const double wattle_above = wattle.energy_j - wattle.idle_energy_j;
  const double other_above = other.energy_j - other.idle_energy_j;
  std::string sources;
  for (const auto& [source, counter] : driver.observer().answers_by_source)
    sources += formatted("%s%s %.0f", sources.empty() ? "" : ", ", source.c_str(), counter.sum());

  std::string out =
      formatted("Summary: %.0f s, a window of %zu pods (250m CPU, 64 MiB, soft 20 ms, hard 30 ms), %zu nodes\n",
                wattle.seconds, driver.options().pods, driver.nodes().size());
  out += hanging("", in_short(driver)) + sleep_text(driver) + learning_text(driver);
  out += phases_text(driver);
  out += formatted(
      "  placements           %zu (%llu on this machine, %llu of them by node selector), %llu removed, "
      "%llu waited for a node\n",
      wattle.placements, whole(counts.on_real), whole(counts.pinned), whole(counts.removed),
      whole(counts.unschedulable));
  out += formatted("  answers              %s\n", answers(driver).c_str());
  out += formatted("  answers by source    %s\n", sources.empty() ? "not reported by the shim" : sources.c_str());
  out += formatted("  answer time          p50 %.2f ms, p99 %.2f ms\n", driver.extender().answer_ms(0.5),
                   driver.extender().answer_ms(0.99));
  out += formatted("  decisions            %.2f per second\n", rate(driver));
  out += hanging("  decided by           ", decided_by(driver));
  out += formatted("  %-20s %14s %14s %9s\n", "whole run", "Wattle", "default", "change");
  const auto row = [&](const char* name, double mine, double theirs, int digits) {
    const std::string change = theirs > 0 ? formatted("%+.1f%%", change_percent(mine, theirs)) : std::string("-");
    out += formatted("  %-20s %14.*f %14.*f %9s\n", name, digits, mine, digits, theirs, change.c_str());
  };
  row("energy, J", wattle.energy_j, other.energy_j, 0);
  if (wattle.shutdowns == 0) row("  above idle, J", wattle_above, other_above, 0);
  row("placed above soft", static_cast<double>(wattle.above_soft), static_cast<double>(other.above_soft), 0);
  row("placed above hard", static_cast<double>(wattle.above_hard), static_cast<double>(other.above_hard), 0);
  row("pod-s above soft", wattle.soft_pod_seconds, other.soft_pod_seconds, 0);
  row("pod-s above hard", wattle.hard_pod_seconds, other.hard_pod_seconds, 0);
  if (driver.observer().status) {
    const ControllerStatus& status = *driver.observer().status;
    out += formatted(
        "  learning             %llu gradient steps, %llu outcomes of %llu placements, mean reward %s, loss %s\n",
        whole(status.gradient_steps), whole(status.outcomes), whole(status.placements),
        number(status.mean_reward, 3).c_str(), number(status.loss, 4).c_str());
  } else {
    out += "  learning             the controller was never reached\n";
  }
  if (driver.placer().swarm_restarts() + driver.placer().retries() + driver.observer().controller_misses +
          counts.real_failures >
      0)
    out += formatted(
        "  interruptions        swarm restarted %llu times, %llu pods reported again; controller unreachable at %llu "
        "checks; %llu pods refused by this machine\n",
        whole(driver.placer().swarm_restarts()), whole(driver.placer().retries()),
        whole(driver.observer().controller_misses), whole(counts.real_failures));
  return out + hanging("", std::string("How it is computed. ") + kHow);
}

std::string summary_json(const Driver& driver) {
  const Costs& wattle = driver.wattle().costs();
  const Driver::Counts& counts = driver.counts();
  const AnswerCounts& asked = driver.extender().counts();
  json sources = json::object();
  for (const auto& [source, counter] : driver.observer().answers_by_source) sources[source] = counter.sum();
  json document{{"seconds", wattle.seconds},
                {"pods", driver.options().pods},
                {"nodes", driver.nodes().size()},
                {"placements", wattle.placements},
                {"removed", counts.removed},
                {"unschedulable", counts.unschedulable},
                {"decisions_per_s", rate(driver)},
                {"answers",
                 {{"asked", asked.asked},
                  {"advised", asked.advised},
                  {"neutral", asked.neutral},
                  {"unanswered", asked.unanswered},
                  {"malformed", asked.malformed},
                  {"by_source", sources},
                  {"p50_ms", driver.extender().answer_ms(0.5)},
                  {"p99_ms", driver.extender().answer_ms(0.99)}}},
                {"wattle", costs_json(wattle)},
                {"default", costs_json(driver.by_default().costs())},
                {"phases", phases_json(driver)},
                {"interruptions",
                 {{"swarm_restarts", driver.placer().swarm_restarts()},
                  {"pods_told_again", driver.placer().retries()},
                  {"controller_away_looks", driver.observer().controller_misses},
                  {"pods_refused_by_this_machine", counts.real_failures}}},
                {"how", kHow}};
  document["controller"] = nullptr;
  if (driver.observer().status) {
    const ControllerStatus& status = *driver.observer().status;
    document["controller"] = {{"placements", status.placements},
                              {"outcomes", status.outcomes},
                              {"gradient_steps", status.gradient_steps},
                              {"mean_reward", optional_json(status.mean_reward)},
                              {"loss", optional_json(status.loss)}};
  }
  return document.dump(2);
}

}  // namespace wattle::sim::live
