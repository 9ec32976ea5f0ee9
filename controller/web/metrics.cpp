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
  each("wattle_controller_peer_messages_total", "Messages that came.",
       [](const Role& role) { return static_cast<double>(role.messages); });
  each("wattle_controller_peer_dropped_total", "Messages whose answer nobody would have had.",
       [](const Role& role) { return static_cast<double>(role.dropped); });
  each("wattle_controller_answers_unread_total", "Answers dropped for peers that do not read.",
       [](const Role& role) { return static_cast<double>(role.unread); });
  each("wattle_controller_peer_seconds_total", "Time of the loop that they took.",
       [](const Role& role) { return seconds(role.used); });
  MetricFamily& waiting = families.family("wattle_controller_waiting_bytes",
                                          "Messages that were read and wait for their turn.", MetricType::Gauge);
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
  families.counter("wattle_controller_enrolled_total", "Times that an agent was told that its key is allowed.",
                   from.enrol->enrolled());
}

// All pairs exist from the start, since Prometheus computes no rate for a series without an earlier value.
void add_refusals(Families& families, const Sources& from) {
  using transport::Refused;
  MetricFamily& family = families.family("wattle_controller_refused_total",
                                         "What was refused, by socket, reason and role.", MetricType::Counter);
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
  families.counter("wattle_controller_keys_revoked_total", "Keys taken off the allow list while running.",
                   from.revoked_keys);
  if (from.allow != nullptr)
    families.gauge("wattle_controller_allow_list_ok",
                   "1: the allow list is in force as its file has it; 0: it cannot be read, an older one is.",
                   from.allow->problem() ? 0.0 : 1.0);
}

void add_telemetry(Families& families, const Sources& from) {
  const TelemetryFigures& figures = from.telemetry.figures();
  families.counter("wattle_controller_records_total", "Records taken from agents.", figures.records);
  families.counter("wattle_controller_records_duplicate_total", "Records that had been taken before.",
                   figures.duplicates);
  families.counter("wattle_controller_records_refused_total", "Records refused for values out of range.",
                   figures.refused);
  families.counter("wattle_controller_workloads_folded_total",
                   "Workloads beyond what a node may tell one by one, of all records.", figures.folded);
  families.counter("wattle_controller_records_missing_total", "Record numbers that never came.", figures.missing);
  families.counter("wattle_controller_garbage_total", "Messages that made no sense or came from the wrong role.",
                   figures.garbage);
  families.counter("wattle_controller_refusals_total", "Telemetry sessions refused.", figures.refusals);
  families.counter("wattle_controller_takeovers_total", "Sessions that another one of the same node took over.",
                   figures.takeovers);
  families.counter("wattle_controller_identity_conflicts_total", "Times that two agents with one key were found out.",
                   figures.conflicts);
  families.gauge("wattle_controller_identity_conflicts", "Nodes whose key two agents have used of late.",
                 static_cast<double>(from.telemetry.conflicts().size()));
  families.counter("wattle_controller_live_records_total",
                   "Records shown ahead of their turn, while older ones wait with their agents.", figures.live);
  families.counter("wattle_controller_throttled_total", "Times that an agent was given less credit for sending much.",
                   figures.throttled);
  families.counter("wattle_controller_handshakes_refused_total", "Handshakes with keys that are not allowed.",
                   from.refused_handshakes);
  if (from.refusals != nullptr) add_refusals(families, from);
  families.gauge("wattle_controller_sessions", "Agents connected.", static_cast<double>(from.telemetry.sessions()));
}

void add_store(Families& families, const Sources& from) {
  if (from.store == nullptr) return;
  const StoreFigures figures = from.store->figures();
  families.gauge("wattle_controller_store_ok", "1: records are kept; 0: the disk refuses, nothing is acknowledged.",
                 figures.problem.empty() ? 1.0 : 0.0);
  families.gauge("wattle_controller_store_bytes", "Size of the store's file.", static_cast<double>(figures.file_bytes));
  families.gauge("wattle_controller_store_raw_records", "Records kept as they came.",
                 static_cast<double>(figures.raw_records));
  families.counter("wattle_controller_store_records_total", "Records committed.", figures.records);
  families.counter("wattle_controller_store_commits_total", "Transactions.", figures.commits);
  families.counter("wattle_controller_store_commits_failed_total", "Transactions that the disk refused; tried again.",
                   figures.commits_failed);
  families.counter("wattle_controller_store_commit_seconds_total", "Time that transactions took.", figures.commit_s);
  families.gauge("wattle_controller_store_queue_records", "Records that wait for their transaction.",
                 static_cast<double>(figures.queue_records));
  families.gauge("wattle_controller_store_queue_bytes", "What they take in memory, roughly.",
                 static_cast<double>(figures.queue_bytes));
  families.counter("wattle_controller_store_gaps_total", "Runs of record numbers that are not in the store.",
                   figures.gaps);
  families.counter("wattle_controller_store_gap_records_total", "Records in them.", figures.gap_records);
  families.gauge("wattle_controller_store_decisions", "Decisions that are kept on disk.",
                 static_cast<double>(figures.decisions));
  families.gauge("wattle_controller_store_decisions_bytes", "What they take, roughly.",
                 static_cast<double>(figures.decisions_bytes));
  families.counter("wattle_controller_store_decisions_lost_total", "Decisions that the disk did not take in time.",
                   figures.decisions_lost);
  families.counter("wattle_controller_store_damaged_files_total", "Files that were damaged and moved aside.",
                   figures.damaged_files);
}

void add_decisions(Families& families, const Sources& from) {
  const DeciderFigures& figures = from.decider.figures();
  families.counter("wattle_controller_asks_total", "Asks answered.", figures.asks);
  families.counter("wattle_controller_asks_repeated_total", "Asks answered as a moment before.", figures.repeated);
  MetricFamily& decisions = families.family("wattle_controller_decisions_total",
                                            "Decisions made for asks, by what decided.", MetricType::Counter);
  for (const std::string_view by : placement::kDeciders)
    if (by != "scheduler")  // decides where no shim asks: wattle_controller_placements_observed_total
      Families::add(decisions, {{"decided_by", std::string(by)}}, static_cast<double>(figures.by(by)));
  families.counter("wattle_controller_placements_total", "Pods seen on a node.", figures.placements);
  families.counter("wattle_controller_placements_unasked_total", "Of which nobody had asked.",
                   figures.placements_unasked);
  families.counter("wattle_controller_placements_observed_total", "Of the unasked, those that became decisions.",
                   figures.observed);
  families.counter("wattle_controller_placements_beyond_total",
                   "Reported by an agent whose node has as many pods as are taken.", figures.placements_beyond);
  families.counter("wattle_controller_asks_forgotten_total", "Pods asked for and nowhere, forgotten before their time.",
                   from.state.asks_forgotten());
  families.counter("wattle_controller_placements_masked_total", "On a node that the masks had excluded.",
                   figures.placements_masked);
  families.counter("wattle_controller_outcomes_total", "Placements whose outcome was measured.", figures.outcomes);
  families.counter("wattle_controller_outcomes_lost_total", "Placements that no telemetry told of.",
                   figures.outcomes_lost);
  MetricFamily& failed =
      families.family("wattle_controller_outcomes_failed_total",
                      "Outcomes whose pod could not run, or stay, where it was.", MetricType::Counter);
  for (const char* how : {"crash", "evicted", "failed_start", "oom_kill"}) {
    const auto found = figures.outcomes_failed.find(how);
    Families::add(failed, {{"failure", how}},
                  found == figures.outcomes_failed.end() ? 0.0 : static_cast<double>(found->second));
  }
  families.gauge("wattle_controller_pods_pending", "Pods for whom nobody has found a node.",
                 static_cast<double>(from.state.pending()));
  families.counter("wattle_controller_in_flight_expired_total", "Advised pods that were never seen.",
                   from.state.in_flight_expired());
  families.histogram("wattle_controller_decide_seconds", "Time to decide.", figures.decide_s);
  if (!figures.rewards.empty())
    families.gauge("wattle_controller_last_reward", "Reward of the last outcome.", figures.rewards.back());
  families.gauge("wattle_controller_mean_reward", "Mean reward of the last hundred outcomes.", figures.mean_reward());
}

void add_watch(Families& families, const Sources& from) {
  if (from.watch == nullptr) return;
  const WatchHealth health = from.watch->health();
  families.gauge("wattle_controller_kube_synced", "1: nodes and pods of the API server are followed.",
                 health.nodes.synced && health.pods.synced ? 1.0 : 0.0);
  const auto each = [&](const char* name, const char* help, MetricType type, auto value) {
    MetricFamily& family = families.family(name, help, type);
    Families::add(family, {{"kind", "nodes"}}, static_cast<double>(value(health.nodes, health.node_count)));
    Families::add(family, {{"kind", "pods"}}, static_cast<double>(value(health.pods, health.pod_count)));
  };
  using Health = kube::MirrorHealth;
  each("wattle_controller_kube_objects", "Objects that are known.", MetricType::Gauge,
       [](const Health&, std::size_t count) { return count; });
  each("wattle_controller_kube_lists_total", "Whole lists taken.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.lists; });
  each("wattle_controller_kube_watches_total", "Watches begun.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.watches; });
  each("wattle_controller_kube_events_total", "Changes told by watches.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.events; });
  each("wattle_controller_kube_too_old_total", "Times that the API server remembered less than we asked for.",
       MetricType::Counter, [](const Health& one, std::size_t) { return one.figures.too_old; });
  each("wattle_controller_kube_failures_total", "Lists and watches that failed.", MetricType::Counter,
       [](const Health& one, std::size_t) { return one.figures.failures; });
}

void add_shims(Families& families, const Sources& from) {
  if (from.shims == nullptr) return;
  const MonoTime now = from.clock.mono();
  const auto connected = from.shims->connected(now);
  MetricFamily& shims = families.family("wattle_controller_shims", "Shims, connected or silent.", MetricType::Gauge);
  Families::add(shims, {{"state", "connected"}}, static_cast<double>(connected));
  Families::add(shims, {{"state", "silent"}}, static_cast<double>(from.shims->all().size() - connected));
  std::optional<double> ask_age;
  if (from.shims->last_ask()) ask_age = seconds(now - *from.shims->last_ask());
  families.gauge("wattle_controller_ask_age_seconds", "Since somebody asked for a placement.", ask_age);
  if (from.watch == nullptr) return;
  const Bindings& total = from.shims->total();
  MetricFamily& pods = families.family(
      "wattle_controller_pods_bound_total",
      "Pods of Wattle's schedulers seen to be bound, by whether somebody had asked for them.", MetricType::Counter);
  Families::add(pods, {{"asked", "yes"}}, static_cast<double>(total.pods - total.unasked));
  Families::add(pods, {{"asked", "no"}}, static_cast<double>(total.unasked));
}

void add_page(Families& families, const Sources& from) {
  if (from.live == nullptr) return;
  families.gauge("wattle_controller_page_streams", "Pages that are being looked at.",
                 static_cast<double>(from.live->listeners()));
  families.counter("wattle_controller_page_streams_dropped_total", "Streams ended since they were not read.",
                   from.live->dropped());
}

void add_certificates(Families& families, const Sources& from) {
  MetricFamily& ends = families.family("wattle_controller_certificate_end_timestamp_seconds",
                                       "When a certificate that is served with ends.", MetricType::Gauge);
  for (const auto& [whose, end] : certificate_ends(from))
    if (end) Families::add(ends, {{"whose", whose}}, static_cast<double>(to_ns(*end)) / 1e9);
}

// Absent: the budget is not in force.
std::optional<double> limit_of(const placement::Budget& budget) {
  return budget.in_force() ? std::optional(budget.limit()) : std::nullopt;
}

void add_modes(Families& families, const Sources& from) {
  families.gauge("wattle_controller_acting", "1: scores are given; 0: answers are neutral.",
                 acts(from.decider.arm().arm) ? 1.0 : 0.0);
  const placement::Budget& cpu_wait = from.decider.knowledge().cpu_wait();
  families.gauge("wattle_controller_cpu_wait_limit_ratio", "Share of their time that pods may wait for CPU.",
                 limit_of(cpu_wait));
  families.gauge("wattle_controller_cpu_wait_ratio", "What they waited of late, while scores were given.",
                 cpu_wait.measured());
  families.gauge("wattle_controller_cpu_wait_price_watts", "What a core that is waited for is worth.",
                 cpu_wait.price());
  const placement::ClusterModel& known = from.decider.knowledge();
  families.gauge("wattle_controller_late_limit_ratio",
                 "Share of their time that pods may be beyond a soft latency limit.", limit_of(known.late()));
  families.gauge("wattle_controller_late_ratio", "What they were beyond it of late, while scores were given.",
                 known.late().measured());
  families.gauge("wattle_controller_late_price", "Times that the latency term counts.", known.latency_price());
  if (from.rollout == nullptr) return;
  families.counter("wattle_controller_policy_changes_total", "Changes of mode, policy or reward.",
                   from.rollout->figures().changes);
  families.counter("wattle_controller_rollbacks_total", "Changes that a monitor took back.",
                   from.rollout->figures().rollbacks);
  families.gauge("wattle_controller_policy_unwritten_changes",
                 "Changes of mode, policy or reward that are in force and that the control file has not taken.",
                 static_cast<double>(from.rollout->unwritten()));
  families.gauge("wattle_controller_regression_level", "Sum that alarms at wattle_controller_regression_limit.",
                 from.rollout->regression().level());
  families.gauge("wattle_controller_regression_limit", "Where the monitor alarms.",
                 from.rollout->regression().options().limit);
  families.gauge("wattle_controller_regression_ready", "1: enough control placements are known to judge by.",
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
  families.counter("wattle_controller_gradient_steps_total", "Gradient steps, resumed ones included.", figures.steps);
  families.gauge("wattle_controller_gradient_steps_per_second", "Gradient steps a second, lately.",
                 figures.steps_per_s);
  families.gauge("wattle_controller_loss", "Loss, running mean: errors in deviations of what is paid.", figures.loss);
  families.gauge("wattle_controller_td_error", "Temporal-difference error, root mean square of late, in rewards.",
                 figures.td_error);
  families.gauge("wattle_controller_reward_centre", "What is taken from each reward before it is learned from.",
                 figures.reward_centre);
  families.gauge("wattle_controller_mean_q", "Q of the actions taken, running mean.", figures.mean_q);
  families.gauge("wattle_controller_replay", "Transitions kept.", static_cast<double>(figures.replay));
  families.counter("wattle_controller_networks_total", "Networks put into service.", figures.networks);
  families.counter("wattle_controller_networks_refused_total", "Networks that were not fit to serve.",
                   figures.networks_refused);
  families.counter("wattle_controller_checkpoints_total", "Checkpoints written.", figures.checkpoints);
  families.counter("wattle_controller_checkpoints_failed_total", "Checkpoints that could not be written.",
                   figures.failed_checkpoints);
}

constexpr std::array kSources{EnergySource::none, EnergySource::rapl,  EnergySource::perf,
                              EnergySource::pcm,  EnergySource::hwmon, EnergySource::estimated};

void add_nodes(Families& families, const Sources& from) {
  using Found = std::optional<double>;
  per_node(families, from, "wattle_controller_node_up", "1: the node's agent is connected.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return node.connected ? 1.0 : 0.0; });
  per_node(families, from, "wattle_controller_node_telemetry_age_seconds", "Since the last sample.", MetricType::Gauge,
           [&](const std::string&, const Node& node) -> Found {
             if (!node.sampled_at) return std::nullopt;
             return seconds(from.clock.mono() - *node.sampled_at);
           });
  per_node(families, from, "wattle_controller_node_catching_up",
           "1: older records wait with the node's agent; what is shown is ahead of what is stored.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return node.ahead.empty() ? 0.0 : 1.0; });
  per_node(families, from, "wattle_controller_node_power_watts", "Mean over the last interval.", MetricType::Gauge,
           [&](const std::string& name, const Node& node) { return glance(from, name, node).power_w; });
  MetricFamily& sources =
      families.family("wattle_controller_node_energy_source",
                      "1 for the source of the node's watts and joules, else 0.", MetricType::Gauge);
  for (const auto& [name, node] : from.state.nodes())
    for (const EnergySource source : kSources)
      Families::add(sources, {{"node", name}, {"source", std::string(to_string(source))}},
                    source == node.values.energy_source ? 1.0 : 0.0);
  per_node(families, from, "wattle_controller_node_energy_joules_total", "Since the controller first saw the node.",
           MetricType::Counter, [](const std::string&, const Node& node) -> Found { return node.energy_j; });
  per_node(families, from, "wattle_controller_node_cpu_used_cores", "Mean over the last interval.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return node.values.cpu_used_cores; });
  per_node(families, from, "wattle_controller_node_pods", "Pods on the node.", MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return static_cast<double>(node.pods.size()); });
  per_node(families, from, "wattle_controller_node_in_flight_pods", "Pods advised to the node and not seen yet.",
           MetricType::Gauge,
           [](const std::string&, const Node& node) -> Found { return static_cast<double>(node.in_flight.size()); });
  per_node(families, from, "wattle_controller_node_starts",
           "Pods in flight to the node, or bound within the window of its start cap.", MetricType::Gauge,
           [&](const std::string&, const Node& node) -> Found {
             return static_cast<double>(from.state.view_of(node).starts);
           });
  per_node(families, from, "wattle_controller_node_start_cap", "Starts at which the node takes no further pod.",
           MetricType::Gauge, [&](const std::string&, const Node& node) -> Found {
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
  add_gates(families, from.decider);
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
