#include "placement/decide/deferral.hpp"

#include <algorithm>
#include <cmath>

namespace wattle::placement {

namespace {

constexpr double kAsk_s = 5;  // if the time of the next room is unknown
// Bounds between two checks, because an end may come sooner than expected.
constexpr double kLeastAsk_s = 1, kMostAsk_s = 10;
constexpr double kLeastSaving = 0.1;  // of the current cost; a smaller saving is within the models' error

bool finite_above_zero(double value) { return std::isfinite(value) && value > 0; }

std::string seconds_text(double value) { return std::to_string(static_cast<long>(std::ceil(value))) + " s"; }

// Returns the node after some of its pods have ended, assuming that each was an average pod.
FleetNode after_ends(FleetNode node, std::size_t ended) {
  const double left = 1 - static_cast<double>(ended) / static_cast<double>(node.pods);
  node.requested.cpu_cores *= left;
  node.requested.memory_bytes *= left;
  node.used_cores *= left;
  node.used_cores2 *= left;
  node.uncertain_cores *= left;
  node.pods -= ended;
  node.open = true;
  return node;
}

bool could_ever_take(const NodeView& node, const PodSpec& pod) {
  const auto fits = [](double allocatable, double request) { return !(allocatable > 0) || request <= allocatable; };
  return fits(node.allocatable.cpu_cores, pod.request.cpu_cores) &&
         fits(node.allocatable.memory_bytes, pod.request.memory_bytes);
}

bool is_of_room(std::string_view mask) { return mask.ends_with("not fit"); }
bool is_of_latency(std::string_view mask) { return mask.find("latency") != std::string_view::npos; }

// Returns the smallest number of ends, at least one, that makes room for the pod. No value if there is none within the
// permission or the times are unknown.
struct Ends {
  std::size_t ended = 0;
  double in_s = 0;
};
std::optional<Ends> room_in(const DeferQuestion& question, std::size_t node) {
  const FleetNode& there = question.fleet.nodes[node];
  for (std::size_t ended = 1; ended <= there.pods; ++ended) {
    const auto in_s = ends_in_s(question.fleet, node, ended);
    if (!in_s || *in_s > question.permitted_s) return std::nullopt;
    if (fits(after_ends(there, ended), question.ask)) return Ends{ended, *in_s};
  }
  return std::nullopt;
}

double wait_there(const FleetNode& node, const PodEstimate& ask) {
  return node.waiting.wait(node.used_cores + node.uncertain_cores + ask.demand_cores + ask.uncertain_cores,
                           node.used_cores2 + ask.demand_cores2, node.allocatable.cpu_cores);
}

double added_wait_w(const FleetNode& node, const PodEstimate& ask, double price_w) {
  if (!(price_w > 0)) return 0;
  const double cores = node.allocatable.cpu_cores, before = node.used_cores + node.uncertain_cores;
  return price_w * std::max(0.0, node.waiting.waiting_cores(before + ask.demand_cores + ask.uncertain_cores,
                                                            node.used_cores2 + ask.demand_cores2, cores) -
                                     node.waiting.waiting_cores(before, node.used_cores2, cores));
}

// Returns the joules that the pod adds to a node over its life, including the wake and the idle power of a node that is
// awake only for it.
double joules_there(const DeferQuestion& question, const FleetNode& node) {
  const PodEstimate& ask = question.ask;
  const double life_s = std::isfinite(ask.life_s) && ask.life_s > 0 ? ask.life_s : question.fleet.hold_s;
  const double before_w = node.sleeps ? node.sleep_w : node.watts_at(node.used_cores);
  const double added_w = node.watts_at(node.used_cores + ask.demand_cores) - before_w +
                         added_wait_w(node, ask, question.fleet.cpu_wait_price_w);
  return life_s * added_w + (node.sleeps ? node.wake_j : 0);
}

double waiting_is_worth_w(const DeferQuestion& question, const FleetNode& node) {
  const double cores = node.allocatable.cpu_cores;
  const double peak_w = cores > 0 ? (node.watts.back() - node.watts.front()) / cores : 0;
  return std::max(question.fleet.cpu_wait_price_w, std::max(0.0, peak_w)) * question.ask.demand_cores;
}

std::optional<Deferral> for_room(const DeferQuestion& question) {
  std::optional<double> soonest_s;
  bool may_come = false;
  for (std::size_t row = 0; row < question.rows.size(); ++row) {
    const std::size_t node = question.rows[row];
    if (is_of_latency(question.masked[row]) || !could_ever_take(question.view.nodes[node], question.pod)) continue;
    may_come = true;
    if (!is_of_room(question.masked[row])) continue;
    const auto room = room_in(question, node);
    if (room && (!soonest_s || room->in_s < *soonest_s)) soonest_s = room->in_s;
  }
  if (!may_come) return std::nullopt;
  Deferral wait;
  wait.again_s = soonest_s.value_or(kAsk_s);
  wait.why =
      soonest_s ? "no node has room; expected in " + seconds_text(*soonest_s) : std::string("no feasible node now");
  return wait;
}

}  // namespace

std::optional<double> ends_in_s(const Fleet& fleet, std::size_t node, std::size_t pods) {
  if (pods == 0) return 0;
  const FleetNode& there = fleet.nodes[node];
  if (fleet.pods_stay || pods > there.pods) return std::nullopt;
  const auto n = static_cast<std::size_t>(there.pods);
  const double last_s = there.empties_at_s - fleet.now_s;
  if (!finite_above_zero(last_s)) return std::nullopt;
  const double life_s = last_s / last_ends_in_s(1, n);
  return life_s * (last_ends_in_s(1, n) - last_ends_in_s(1, n - pods));
}

std::optional<Deferral> deferral(const DeferQuestion& question) {
  if (!finite_above_zero(question.permitted_s) || question.rows.empty() || question.pod.daemonset) return std::nullopt;
  std::optional<Deferral> wait;
  if (!question.best) {
    wait = for_room(question);
  } else if (!question.fleet.pods_stay) {
    const FleetNode& named = question.fleet.nodes[question.rows[*question.best]];
    bool crowded = question.fleet.cpu_wait_price_w > 0;
    for (std::size_t row = 0; crowded && row < question.rows.size(); ++row)
      crowded = !question.masked[row].empty() ||
                wait_there(question.fleet.nodes[question.rows[row]], question.ask) > question.wait_limit;
    if (!named.sleeps && !crowded) return std::nullopt;
    const double now_j = joules_there(question, named);
    for (std::size_t row = 0; row < question.rows.size(); ++row) {
      const std::string_view mask = question.masked[row];
      const FleetNode& there = question.fleet.nodes[question.rows[row]];
      if (there.sleeps || there.pods == 0 || (!mask.empty() && !is_of_room(mask))) continue;
      const auto room = room_in(question, question.rows[row]);
      if (!room) continue;
      const FleetNode then = after_ends(there, room->ended);
      if (then.pods == 0) continue;  // the node would be asleep
      if (!named.sleeps && wait_there(then, question.ask) > question.wait_limit) continue;
      const double saves_j = now_j - joules_there(question, then) - room->in_s * waiting_is_worth_w(question, then);
      if (saves_j < kLeastSaving * std::abs(now_j) || (wait && saves_j <= wait->saves_j)) continue;
      wait = Deferral{room->in_s,
                      (named.sleeps ? "it would wake a node; an awake node is expected to have room in "
                                    : "waiting would exceed the budget on every node; less waiting expected in ") +
                          seconds_text(room->in_s),
                      saves_j};
    }
  }
  if (wait) wait->again_s = std::min(std::clamp(wait->again_s, kLeastAsk_s, kMostAsk_s), question.permitted_s);
  return wait;
}

}  // namespace wattle::placement
