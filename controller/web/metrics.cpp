#include "controller/web/metrics.hpp"

#include <array>
#include <utility>
#include <vector>

#include "controller/web/findings.hpp"
#include "controller/web/gate_metrics.hpp"
#include "controller/web/margins_json.hpp"
#include "controller/web/metric_families.hpp"
#include "controller/web/provision_json.hpp"
#include "controller/web/saving_metrics.hpp"
#include "controller/web/series.hpp"
#include "controller/web/store_metrics.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::controller {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

template <class Value>
void per_node(Families& families, const Sources& from, const char* name, const char* help, MetricType type,
              Value value) {
  MetricFamily& family = families.family(name, help, type);
  for (const auto& [node_name, node] : from.state.nodes()) {
    const std::optional<double> found = value(node_name, node);
    if (!found) continue;
    Families::add(family, {{"node", node_name}}, *found);
    from.let_asks_in(family.metric.size());
  }
}

// Adds counts by the role of the key in use.
void add_roles(Families& families, const Sources& from) {
  if (from.roles == nullptr) return;
  const auto each = [&](const char* name, const char* help, auto value) {
    MetricFamily& family = families.family(name, help, MetricType::Counter);
    for (const transport::Role role : transport::kRoles)
      Families::add(family, {{"role", std::string(to_string(role))}}, value(from.roles->of(role)));
  };
  using Role = RoleFigures::Role;
  each("wattle_controller_peer_messages_total", "Received messages.",
       [](const Role& role) { return static_cast<double>(role.messages); });
  each("wattle_controller_peer_dropped_total", "Messages dropped because their sender no longer waits for an answer.",
       [](const Role& role) { return static_cast<double>(role.dropped); });
  each("wattle_controller_answers_unread_total", "Answers dropped for peers that do not read.",
       [](const Role& role) { return static_cast<double>(role.unread); });
  each("wattle_controller_peer_seconds_total", "Time that the main loop spent on messages.",
       [](const Role& role) { return seconds(role.used); });
  MetricFamily& waiting = families.family("wattle_controller_waiting_bytes",
                                          "Received messages waiting to be processed.", MetricType::Gauge);
  for (const auto& [what, bytes] : {std::pair{"asks", from.waiting_bytes.asks},
                                    {"queries", from.waiting_bytes.queries},
                                    {"telemetry", from.waiting_bytes.telemetry}})
    Families::add(waiting, {{"what", what}}, static_cast<double>(bytes));
}

void add_enrolment(Families& families, MetricFamily& refused, const Sources& from) {
  std::map<std::string, double> by_reason;
  for (std::size_t i = 0; i < kEnrolRefusedNames.size(); ++i)
    by_reason[std::string(kEnrolRefusedNames[i])] += static_cast<double>(from.enrol->get(static_cast<EnrolRefused>(i)));
  for (std::size_t i = 0; from.enrol_refusals != nullptr && i < http::kRefusedNames.size(); ++i)
    by_reason[std::string(http::kRefusedNames[i])] +=
        static_cast<double>(from.enrol_refusals->get(static_cast<http::Refused>(i)));
  for (const auto& [reason, count] : by_reason)
    Families::add(refused, {{"socket", "enrol"}, {"reason", reason}}, count);
  families.counter("wattle_controller_enrolled_total", "Handshakes of agents that were accepted.",
                   from.enrol->enrolled());
}

// All pairs exist from the start, since Prometheus computes no rate for a series without an earlier value.
void add_refusals(Families& families, const Sources& from) {
  using transport::Refused;
  MetricFamily& family =
      families.family("wattle_controller_refused_total",
                      "Rejected messages and connections by socket, reason and role.", MetricType::Counter);
  for (const transport::Channel channel : transport::kChannels)
    for (std::size_t i = 0; i < transport::kRefusedReasons; ++i)
      for (const auto who : transport::RefusalCounts::kWho)
        Families::add(family,
                      {{"socket", std::string(to_string(channel))},
                       {"reason", std::string(to_string(static_cast<Refused>(i)))},
                       {"role", std::string(transport::RefusalCounts::to_string(who))}},
                      static_cast<double>(from.refusals->get(channel, static_cast<Refused>(i), who)));
  for (std::size_t i = 0; from.http_refusals != nullptr && i < http::kRefusedNames.size(); ++i)
    Families::add(family, {{"socket", "http"}, {"reason", std::string(http::kRefusedNames[i])}},
                  static_cast<double>(from.http_refusals->get(static_cast<http::Refused>(i))));
  if (from.enrol != nullptr) add_enrolment(families, family, from);
  families.counter("wattle_controller_keys_revoked_total",
                   "Keys removed from the allow list while the controller runs.", from.revoked_keys);
  if (from.allow != nullptr)
    families.gauge("wattle_controller_allow_list_ok",
                   "1 if the current allow list file is in force, 0 if it cannot be read and an older list is.",
                   from.allow->problem() ? 0.0 : 1.0);
}

void add_telemetry(Families& families, const Sources& from) {
  const TelemetryFigures& figures = from.telemetry.figures();
  families.counter("wattle_controller_records_total", "Records accepted from agents.", figures.records);
  families.counter("wattle_controller_records_duplicate_total", "Records that had already been accepted.",
                   figures.duplicates);
  families.counter("wattle_controller_records_refused_total", "Records rejected because of values out of range.",
                   figures.refused);
  families.counter("wattle_controller_workloads_folded_total",
                   "Workloads combined into one because a record exceeds the limit of workloads.", figures.folded);
  families.counter("wattle_controller_records_missing_total", "Record numbers that were never received.",
                   figures.missing);
  families.counter("wattle_controller_garbage_total", "Messages that were malformed or came from the wrong role.",
                   figures.garbage);
  families.counter("wattle_controller_refusals_total", "Rejected telemetry sessions.", figures.refusals);
  families.counter("wattle_controller_takeovers_total", "Sessions replaced by another session of the same node.",
                   figures.takeovers);
  families.counter("wattle_controller_identity_conflicts_total", "Detections of two agents with the same key.",
                   figures.conflicts);
  families.gauge("wattle_controller_identity_conflicts", "Nodes whose key two agents have used recently.",
                 static_cast<double>(from.telemetry.conflicts().size()));
  families.counter("wattle_controller_live_records_total",
                   "Live records processed while older records wait with their agents.", figures.live);
  families.counter("wattle_controller_throttled_total", "Reductions of an agent's credit because it sends too much.",
                   figures.throttled);
  families.counter("wattle_controller_handshakes_refused_total", "Handshakes with keys that are not allowed.",
                   from.refused_handshakes);
  if (from.refusals != nullptr) add_refusals(families, from);
  families.gauge("wattle_controller_sessions", "Connected agents.", static_cast<double>(from.telemetry.sessions()));
}

void add_decisions(Families& families, const Sources& from) {
  const DeciderFigures& figures = from.decider.figures();
  families.counter("wattle_controller_asks_total", "Answered placement requests.", figures.asks);
  families.counter("wattle_controller_asks_repeated_total", "Placement requests answered from the previous answer.",
                   figures.repeated);
  MetricFamily& decisions = families.family(
      "wattle_controller_decisions_total", "Decisions for placement requests, by decision maker.", MetricType::Counter);
  for (const std::string_view by : placement::kDeciders)
    if (by != "scheduler")  // decides where no shim asks: wattle_controller_placements_observed_total
      Families::add(decisions, {{"decided_by", std::string(by)}}, static_cast<double>(figures.by(by)));
  families.counter("wattle_controller_placements_total", "Pods seen on a node.", figures.placements);
  families.counter("wattle_controller_placements_unasked_total", "Pods placed without a scoring request.",
                   figures.placements_unasked);
  families.counter("wattle_controller_placements_observed_total",
                   "Pods placed without a scoring request that became decisions to learn from.", figures.observed);
  families.counter("wattle_controller_placements_beyond_total",
                   "Reported pods that were ignored because the node has reached the limit of pods.",
                   figures.placements_beyond);
  families.counter("wattle_controller_asks_forgotten_total",
                   "Expected pods that were dropped early because there were too many.", from.state.asks_forgotten());
  families.counter("wattle_controller_placements_masked_total", "Pods seen on a node that the masks had excluded.",
                   figures.placements_masked);
  families.counter("wattle_controller_outcomes_total", "Placements with a measured outcome.", figures.outcomes);
  families.counter("wattle_controller_outcomes_lost_total", "Placements without telemetry.", figures.outcomes_lost);
  MetricFamily& failed =
      families.family("wattle_controller_outcomes_failed_total",
                      "Outcomes of pods that failed to start or to keep running.", MetricType::Counter);
  for (const char* how : {"crash", "evicted", "failed_start", "oom_kill"}) {
    const auto found = figures.outcomes_failed.find(how);
    Families::add(failed, {{"failure", how}},
                  found == figures.outcomes_failed.end() ? 0.0 : static_cast<double>(found->second));
  }
  families.gauge("wattle_controller_pods_pending", "Pods without a feasible node.",
                 static_cast<double>(from.state.pending()));
  families.counter("wattle_controller_in_flight_expired_total", "Advised pods that never appeared on a node.",
                   from.state.in_flight_expired());
  families.histogram("wattle_controller_decide_seconds", "Duration of decisions.", figures.decide_s);
  if (!figures.rewards.empty())
    families.gauge("wattle_controller_last_reward", "Reward of the last outcome.", figures.rewards.back());
  families.gauge("wattle_controller_mean_reward", "Mean reward of the last hundred outcomes.", figures.mean_reward());
}

void add_watch(Families& families, const Sources& from) {
  if (from.watch == nullptr) return;
  const WatchHealth health = from.watch->health();
  families.gauge("wattle_controller_kube_synced",
                 "1 if the controller has synchronised nodes and pods with the API server.",
                 health.nodes.synced && health.pods.synced ? 1.0 : 0.0);
  const auto each = [&](const char* name, const char* help, MetricType type, auto value) {
    MetricFamily& family = families.family(name, help, type);
    Families::add(family, {{"kind", "nodes"}}, static_cast<double>(value(health.nodes, health.node_count)));
    Families::add(family, {{"kind", "pods"}}, static_cast<double>(value(health.pods, health.pod_count)));
  };
  using Health = kube::MirrorHealth;
  each("wattle_controller_kube_objects", "Known Kubernetes objects.", MetricType::Gauge,
       [](const Health&, std::size_t count) { return count; });
  each("wattle_controller_kube_lists_total", "Completed lists.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.lists; });
  each("wattle_controller_kube_watches_total", "Started watches.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.watches; });
  each("wattle_controller_kube_events_total", "Changes received from watches.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.events; });
  each("wattle_controller_kube_too_old_total",
       "Watches that failed because the resource version was too old (HTTP 410).", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.too_old; });
  each("wattle_controller_kube_failures_total", "Failed lists and watches.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.failures; });
}

void add_shims(Families& families, const Sources& from) {
  if (from.shims == nullptr) return;
  const MonoTime now = from.clock.mono();
  const auto connected = from.shims->connected(now);
  MetricFamily& shims = families.family("wattle_controller_shims", "Registered shims by state.", MetricType::Gauge);
  Families::add(shims, {{"state", "connected"}}, static_cast<double>(connected));
  Families::add(shims, {{"state", "silent"}}, static_cast<double>(from.shims->all().size() - connected));
  std::optional<double> ask_age;
  if (from.shims->last_ask()) ask_age = seconds(now - *from.shims->last_ask());
  families.gauge("wattle_controller_ask_age_seconds", "Time since the last placement request.", ask_age);
  if (from.watch == nullptr) return;
  const Bindings& total = from.shims->total();
  MetricFamily& pods =
      families.family("wattle_controller_pods_bound_total",
                      "Bound pods of Wattle's schedulers, with and without a placement request.", MetricType::Counter);
  Families::add(pods, {{"asked", "yes"}}, static_cast<double>(total.pods - total.unasked));
  Families::add(pods, {{"asked", "no"}}, static_cast<double>(total.unasked));
}

void add_page(Families& families, const Sources& from) {
  if (from.live == nullptr) return;
  families.gauge("wattle_controller_page_streams", "Open pages.", static_cast<double>(from.live->listeners()));
  families.counter("wattle_controller_page_streams_dropped_total",
                   "Streams closed because the client did not read them.", from.live->dropped());
}

void add_certificates(Families& families, const Sources& from) {
  MetricFamily& ends = families.family("wattle_controller_certificate_end_timestamp_seconds",
                                       "Expiry of a server certificate as Unix time.", MetricType::Gauge);
  for (const auto& [whose, end] : certificate_ends(from))
    if (end) Families::add(ends, {{"whose", whose}}, static_cast<double>(to_ns(*end)) / 1e9);
}

// Absent: the budget is not in force.
std::optional<double> limit_of(const placement::Budget& budget) {
  return budget.in_force() ? std::optional(budget.limit()) : std::nullopt;
}

void add_modes(Families& families, const Sources& from) {
  families.gauge("wattle_controller_acting", "1 if the controller returns scores, 0 if its answers are neutral.",
                 acts(from.decider.arm().arm) ? 1.0 : 0.0);
  const placement::Budget& cpu_wait = from.decider.knowledge().cpu_wait();
  families.gauge("wattle_controller_cpu_wait_limit_ratio", "Budget for the share of time that pods wait for CPU.",
                 limit_of(cpu_wait));
  families.gauge("wattle_controller_cpu_wait_ratio",
                 "Recent share of time that pods waited for CPU while scores were returned.", cpu_wait.measured());
  families.gauge("wattle_controller_cpu_wait_price_watts", "Price of a core that pods wait for.", cpu_wait.price());
  const placement::ClusterModel& known = from.decider.knowledge();
  families.gauge("wattle_controller_late_limit_ratio",
                 "Budget for the share of time that pods exceed a soft latency limit.", limit_of(known.late()));
  families.gauge("wattle_controller_late_ratio",
                 "Recent share of time that pods exceeded a soft latency limit while scores were returned.",
                 known.late().measured());
  families.gauge("wattle_controller_late_price", "Current factor of the latency term.", known.latency_price());
  if (from.rollout == nullptr) return;
  families.counter("wattle_controller_policy_changes_total", "Changes of mode, policy or reward.",
                   from.rollout->figures().changes);
  families.counter("wattle_controller_rollbacks_total", "Rollbacks by monitors.", from.rollout->figures().rollbacks);
  families.gauge("wattle_controller_policy_unwritten_changes",
                 "Changes of mode, policy or reward that are in force but not saved in the control file.",
                 static_cast<double>(from.rollout->unwritten()));
  families.gauge("wattle_controller_regression_level",
                 "Regression statistic; the monitor alarms at wattle_controller_regression_limit.",
                 from.rollout->regression().level());
  families.gauge("wattle_controller_regression_limit", "Limit of the regression statistic.",
                 from.rollout->regression().options().limit);
  families.gauge("wattle_controller_regression_ready", "1 if there are enough control placements for a verdict.",
                 from.rollout->regression().ready() ? 1.0 : 0.0);
  add_saving(families, from.rollout->effect(), from.decider.saving(), from.rollout->calibration());
}

// Adds the mode, policy and reward in force.
void add_states(Families& families, const Sources& from) {
  families.state(
      "wattle_controller_mode", "1 for the mode in force, else 0.", "mode",
      std::array{to_string(Mode::off), to_string(Mode::shadow), to_string(Mode::canary), to_string(Mode::live)},
      to_string(from.decider.spec().mode.mode));
  std::vector<std::string_view> policies;
  for (const placement::PolicyInfo& each : placement::policies()) policies.push_back(each.name);
  families.state("wattle_controller_policy", "1 for the policy in force, else 0.", "policy", policies,
                 from.decider.policy());
  std::vector<std::string_view> presets;
  for (int i = 0; i <= static_cast<int>(placement::Preset::expression); ++i)
    presets.push_back(placement::to_string(static_cast<placement::Preset>(i)));
  families.state("wattle_controller_reward", "1 for the reward preset in force, else 0.", "preset", presets,
                 placement::to_string(from.decider.options().reward.preset));
}

void add_learning(Families& families, const Sources& from) {
  if (from.trainer == nullptr) return;
  const TrainerFigures figures = from.trainer->figures();
  families.counter("wattle_controller_gradient_steps_total", "Gradient steps, including those before a restart.",
                   figures.steps);
  families.gauge("wattle_controller_gradient_steps_per_second", "Recent gradient steps per second.",
                 figures.steps_per_s);
  families.gauge("wattle_controller_loss", "Running mean of the loss, relative to the standard deviation of rewards.",
                 figures.loss);
  families.gauge("wattle_controller_td_error",
                 "Recent root mean square of the temporal-difference error, in units of reward.", figures.td_error);
  families.gauge("wattle_controller_reward_centre", "Value subtracted from each reward before learning.",
                 figures.reward_centre);
  families.gauge("wattle_controller_mean_q", "Running mean of Q of the chosen actions.", figures.mean_q);
  families.gauge("wattle_controller_replay", "Transitions in the replay buffer.", static_cast<double>(figures.replay));
  families.counter("wattle_controller_networks_total", "Networks put into use.", figures.networks);
  families.counter("wattle_controller_networks_refused_total", "Networks rejected before use.",
                   figures.networks_refused);
  families.counter("wattle_controller_checkpoints_total", "Written checkpoints.", figures.checkpoints);
  families.counter("wattle_controller_checkpoints_failed_total", "Checkpoints that failed to be written.",
                   figures.failed_checkpoints);
}

constexpr std::array kSources{EnergySource::none, EnergySource::rapl,  EnergySource::perf,
                              EnergySource::pcm,  EnergySource::hwmon, EnergySource::estimated};

void add_nodes(Families& families, const Sources& from) {
  using Found = std::optional<double>;
  per_node(families, from, "wattle_controller_node_up", "1 if the node's agent is connected.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return node.connected ? 1.0 : 0.0; });
  per_node(families, from, "wattle_controller_node_telemetry_age_seconds", "Time since the last sample.",
           MetricType::Gauge, [&](const std::string&, const Node& node) -> Found {
             if (!node.sampled_at) return std::nullopt;
             return seconds(from.clock.mono() - *node.sampled_at);
           });
  per_node(families, from, "wattle_controller_node_catching_up",
           "1 if older records wait with the node's agent and only live values are current.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return node.ahead.empty() ? 0.0 : 1.0; });
  per_node(families, from, "wattle_controller_node_power_watts", "Mean over the last interval.", MetricType::Gauge,
           [&](const std::string& name, const Node& node) { return glance(from, name, node).power_w; });
  MetricFamily& sources = families.family("wattle_controller_node_energy_source",
                                          "1 for the energy source of the node, else 0.", MetricType::Gauge);
  for (const auto& [name, node] : from.state.nodes())
    for (const EnergySource source : kSources)
      Families::add(sources, {{"node", name}, {"source", std::string(to_string(source))}},
                    source == node.values.energy_source ? 1.0 : 0.0);
  per_node(families, from, "wattle_controller_node_energy_joules_total",
           "Energy since the controller first saw the node.", MetricType::Counter,
           [](const std::string&, const Node& node) -> Found { return node.energy_j; });
  per_node(families, from, "wattle_controller_node_cpu_used_cores", "Mean over the last interval.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return node.values.cpu_used_cores; });
  per_node(families, from, "wattle_controller_node_pods", "Pods on the node.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return static_cast<double>(node.pods.size()); });
  per_node(families, from, "wattle_controller_node_in_flight_pods",
           "Pods advised to the node that have not appeared yet.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return static_cast<double>(node.in_flight.size()); });
  per_node(families, from, "wattle_controller_node_starts",
           "Pods on their way to the node or bound within the window of its start limit.", MetricType::Gauge,
           [&](const std::string&, const Node& node) -> Found {
             return static_cast<double>(from.state.view_of(node).starts);
           });
  per_node(families, from, "wattle_controller_node_start_cap", "Limit of pod starts of the node.", MetricType::Gauge,
           [&](const std::string&, const Node& node) -> Found {
             const double cores = from.state.view_of(node).allocatable.cpu_cores;
             return static_cast<double>(from.decider.options().mask.start_cap.of(cores));
           });
}

}  // namespace

std::string metrics_text(const Sources& from) {
  Families families;
  add_states(families, from);
  add_telemetry(families, from);
  add_roles(families, from);
  add_store(families, from);
  add_decisions(families, from);
  add_watch(families, from);
  add_modes(families, from);
  add_gates(families, from);
  add_provision(families, from);
  add_margins(families, from);
  add_shims(families, from);
  add_page(families, from);
  add_certificates(families, from);
  add_learning(families, from);
  add_nodes(families, from);
  return families.text();
}

}  // namespace wattle::controller
