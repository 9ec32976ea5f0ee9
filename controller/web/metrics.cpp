#include "controller/web/metrics.hpp"

#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/http/access.hpp"
#include "common/http/broadcast.hpp"
#include "common/transport/allow_file.hpp"
#include "common/transport/sockets.hpp"
#include "controller/config.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/enrol/enrolment.hpp"
#include "controller/ingest/allow_watch.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/kube/watch.hpp"
#include "controller/provision/margin_teacher.hpp"
#include "controller/provision/replica_book.hpp"
#include "controller/provision/request_book.hpp"
#include "controller/role_figures.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/store.hpp"
#include "controller/trainer/learning.hpp"
#include "controller/web/findings.hpp"
#include "controller/web/margins_json.hpp"
#include "controller/web/metric_families.hpp"
#include "controller/web/node_metrics.hpp"
#include "controller/web/provision_json.hpp"
#include "controller/web/saving_json.hpp"
#include "controller/web/savings_json.hpp"
#include "controller/web/sizing_json.hpp"
#include "controller/web/sleep_json.hpp"
#include "controller/web/sleep_states.hpp"
#include "placement/decide/policies/registry.hpp"

namespace wattle::controller {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

// Adds counts by the role of the key in use.
void add_roles(Families& families, const RoleFigures& roles) {
  const auto each = [&](const char* name, const char* help, auto value) {
    MetricFamily& family = families.family(name, help, MetricType::Counter);
    for (const transport::Role role : transport::kRoles)
      Families::add(family, {{"role", std::string(to_string(role))}}, value(roles.of(role)));
  };
  using Role = RoleFigures::Role;
  each("wattle_controller_answers_unread_total", "Answers dropped for peers that do not read.",
       [](const Role& role) { return static_cast<double>(role.unread); });
  each("wattle_controller_peer_seconds_total", "Time that the main loop spent on messages.",
       [](const Role& role) { return seconds(role.used); });
}

void add_enrolment(Families& families, MetricFamily& refused, const EnrolCounts& enrol,
                   const http::RefusalCounts& refusals) {
  std::map<std::string, double> by_reason;
  for (std::size_t i = 0; i < kEnrolRefusedNames.size(); ++i)
    by_reason[std::string(kEnrolRefusedNames[i])] += static_cast<double>(enrol.get(static_cast<EnrolRefused>(i)));
  for (std::size_t i = 0; i < http::kRefusedNames.size(); ++i)
    by_reason[std::string(http::kRefusedNames[i])] += static_cast<double>(refusals.get(static_cast<http::Refused>(i)));
  for (const auto& [reason, count] : by_reason)
    Families::add(refused, {{"socket", "enrol"}, {"reason", reason}}, count);
  families.counter("wattle_controller_enrolled_total", "Keys allowed by enrolment.", enrol.enrolled());
}

// All pairs exist from the start, since Prometheus computes no rate for a series without an earlier value.
void add_refusals(Families& families, const Parts& from) {
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
                      static_cast<double>(from.context.refusals().get(channel, static_cast<Refused>(i), who)));
  for (std::size_t i = 0; i < http::kRefusedNames.size(); ++i)
    Families::add(family, {{"socket", "http"}, {"reason", std::string(http::kRefusedNames[i])}},
                  static_cast<double>(from.http_refusals.get(static_cast<http::Refused>(i))));
  if (from.config.enrol.enabled()) add_enrolment(families, family, from.enrol, from.enrol_refusals);
  families.counter("wattle_controller_keys_revoked_total",
                   "Keys removed from the allow list while the controller runs.", from.allow_watch.revoked());
  families.gauge("wattle_controller_allow_list_ok",
                 "1 if the current allow list file is in force, 0 if it cannot be read and an older list is.",
                 from.allow.problem() ? 0.0 : 1.0);
}

void add_telemetry(Families& families, const Parts& from) {
  const TelemetryFigures& figures = from.telemetry.figures();
  families.counter("wattle_controller_records_total", "Records accepted from agents.", figures.records);
  families.counter("wattle_controller_records_duplicate_total", "Records that had already been accepted.",
                   figures.duplicates);
  families.counter("wattle_controller_records_refused_total", "Records rejected because of values out of range.",
                   figures.refused);
  families.counter("wattle_controller_records_missing_total", "Record numbers that were never received.",
                   figures.missing);
  families.counter("wattle_controller_identity_conflicts_total", "Detections of two agents with the same key.",
                   from.telemetry.conflicts_found());
  add_refusals(families, from);
  families.gauge("wattle_controller_overload_tick_seconds",
                 "Shortest interval of records that agents may use while the controller is overloaded; 0: their own.",
                 seconds(from.telemetry.shedding().tick));
  families.gauge("wattle_controller_sessions", "Connected agents.", static_cast<double>(from.telemetry.sessions()));
}

void add_store(Families& families, const Store& store) {
  if (!store.on()) return;
  const StoreFigures figures = store.figures();
  families.gauge("wattle_controller_store_ok",
                 "1 if records are written to disk, 0 if writing fails and no record is acknowledged.",
                 figures.problem.empty() ? 1.0 : 0.0);
  families.gauge("wattle_controller_store_bytes", "Size of the store file.", static_cast<double>(figures.file_bytes));
  families.gauge("wattle_controller_store_queue_records", "Records waiting for a transaction.",
                 static_cast<double>(figures.queue_records));
  families.counter("wattle_controller_store_decisions_lost_total", "Decisions dropped because the disk was too slow.",
                   figures.decisions_lost);
}

void add_decisions(Families& families, const Parts& from) {
  const DeciderFigures& figures = from.decider.figures();
  families.counter("wattle_controller_asks_total", "Answered placement requests.", figures.asks);
  MetricFamily& decisions = families.family(
      "wattle_controller_decisions_total", "Decisions for placement requests, by decision maker.", MetricType::Counter);
  for (const std::string_view by : placement::kDeciders)
    if (by != "scheduler")  // decides where no shim asks
      Families::add(decisions, {{"decided_by", std::string(by)}}, static_cast<double>(figures.by(by)));
  families.counter("wattle_controller_placements_total", "Pods seen on a node.", figures.placements);
  families.counter("wattle_controller_placements_unasked_total", "Pods placed without a scoring request.",
                   figures.placements_unasked);
  families.counter("wattle_controller_outcomes_total", "Placements with a measured outcome.", figures.outcomes);
  families.histogram("wattle_controller_decide_seconds", "Duration of decisions.", figures.decide_s);
  if (!figures.rewards.empty())
    families.gauge("wattle_controller_last_reward", "Reward of the last outcome.", figures.rewards.back());
}

void add_watch(Families& families, const Watch& watch) {
  if (!watch.on()) return;
  const WatchHealth health = watch.health();
  families.gauge("wattle_controller_kube_synced",
                 "1 if the controller has synchronised nodes and pods with the API server.",
                 health.nodes.synced && health.pods.synced ? 1.0 : 0.0);
  MetricFamily& failures =
      families.family("wattle_controller_kube_failures_total", "Failed lists and watches.", MetricType::Counter);
  Families::add(failures, {{"kind", "nodes"}}, static_cast<double>(health.nodes.figures.failures));
  Families::add(failures, {{"kind", "pods"}}, static_cast<double>(health.pods.figures.failures));
}

void add_shims(Families& families, const Shims& shims, bool bindings_known, MonoTime now) {
  const auto connected = shims.connected(now);
  MetricFamily& family = families.family("wattle_controller_shims", "Registered shims by state.", MetricType::Gauge);
  Families::add(family, {{"state", "connected"}}, static_cast<double>(connected));
  Families::add(family, {{"state", "silent"}}, static_cast<double>(shims.all().size() - connected));
  if (!bindings_known) return;
  const Bindings& total = shims.total();
  MetricFamily& pods =
      families.family("wattle_controller_pods_bound_total",
                      "Bound pods of Wattle's schedulers, with and without a placement request.", MetricType::Counter);
  Families::add(pods, {{"asked", "yes"}}, static_cast<double>(total.pods - total.unasked));
  Families::add(pods, {{"asked", "no"}}, static_cast<double>(total.unasked));
}

void add_page(Families& families, const http::Broadcast& live) {
  families.counter("wattle_controller_page_streams_dropped_total",
                   "Streams closed because the client did not read them.", live.dropped());
}

void add_certificates(Families& families, const Parts& from) {
  MetricFamily& ends = families.family("wattle_controller_certificate_end_timestamp_seconds",
                                       "Expiry of a server certificate as Unix time.", MetricType::Gauge);
  for (const auto& [whose, end] : certificate_ends(from))
    if (end) Families::add(ends, {{"whose", whose}}, static_cast<double>(to_ns(*end)) / 1e9);
}

// A limit is absent while the budget is not in force.
void add_budgets(Families& families, const placement::PodTime& pod_time) {
  const std::array budgets{std::pair("cpu_wait", &pod_time.cpu_wait()), std::pair("late", &pod_time.late())};
  MetricFamily& limits = families.family(
      "wattle_controller_budget_limit_ratio",
      "Budget for the share of time that pods wait for CPU or exceed a soft latency limit.", MetricType::Gauge);
  for (const auto& [name, budget] : budgets)
    if (budget->in_force()) Families::add(limits, {{"budget", name}}, budget->limit());
  MetricFamily& measured =
      families.family("wattle_controller_budget_ratio",
                      "Share of the last hour of acting that counts against the budget.", MetricType::Gauge);
  for (const auto& [name, budget] : budgets)
    if (const auto ratio = budget->measured()) Families::add(measured, {{"budget", name}}, *ratio);
}

void add_tariff(Families& families, const Tariff& tariff) {
  if (tariff.price_per_kwh)
    Families::add(
        families.family("wattle_controller_tariff_price_per_kwh",
                        "Price of a kWh by the configuration, in the currency of the label.", MetricType::Gauge),
        {{"currency", tariff.currency}}, *tariff.price_per_kwh);
  families.gauge("wattle_controller_tariff_co2_grams_per_kwh", "CO2 of a kWh by the configuration.",
                 tariff.co2_g_per_kwh);
}

void add_modes(Families& families, const Parts& from) {
  families.gauge("wattle_controller_acting", "1 if the controller returns scores, 0 if its answers are neutral.",
                 acts(from.decider.arm().arm) ? 1.0 : 0.0);
  add_budgets(families, from.decider.engine().cluster_model().pod_time());
  families.counter("wattle_controller_rollbacks_total", "Rollbacks by monitors.", from.rollout.figures().rollbacks);
  families.gauge("wattle_controller_policy_unwritten_changes",
                 "Changes of mode, policy or reward that are in force but not saved in the control file.",
                 static_cast<double>(from.rollout.unwritten()));
  families.gauge("wattle_controller_regression_level",
                 "Regression statistic; the monitor alarms at wattle_controller_regression_limit.",
                 from.rollout.regression().level());
  families.gauge("wattle_controller_regression_limit", "Limit of the regression statistic.",
                 from.rollout.regression().options().limit);
  add_saving(families, from.rollout.effect(), saving_now(from));
  add_tariff(families, from.config.tariff);
}

// Adds the mode, policy and reward in force.
void add_states(Families& families, const Decider& decider) {
  families.state(
      "wattle_controller_mode", "1 for the mode in force, else 0.", "mode",
      std::array{to_string(Mode::off), to_string(Mode::shadow), to_string(Mode::canary), to_string(Mode::live)},
      to_string(decider.spec().mode.mode));
  std::vector<std::string_view> policies;
  for (const placement::PolicyInfo& each : placement::policies()) policies.push_back(each.name);
  families.state("wattle_controller_policy", "1 for the policy in force, else 0.", "policy", policies,
                 decider.spec().policy);
  std::vector<std::string_view> presets;
  for (int i = 0; i <= static_cast<int>(placement::Preset::expression); ++i)
    presets.push_back(placement::to_string(static_cast<placement::Preset>(i)));
  families.state("wattle_controller_reward", "1 for the reward preset in force, else 0.", "preset", presets,
                 placement::to_string(decider.engine().options().reward.preset));
}

void add_network_states(Families& families, const Parts& from) {
  prometheus::MetricFamily& family = families.family(
      "wattle_controller_network_state", "1 for the state of the network, else 0.", prometheus::MetricType::Gauge);
  const auto add = [&](const char* network, std::optional<stats::NetworkState> state) {
    using enum stats::NetworkState;
    for (const stats::NetworkState each : {candidate, on_trial, in_use, withdrawn})
      if (state)
        Families::add(family, {{"network", network}, {"state", std::string(stats::to_string(each))}},
                      *state == each ? 1.0 : 0.0);
  };
  const NetworkChoice::NetworkStates states = from.decider.networks().states();
  add("baseline", states.baseline);
  add("learned", states.learned);
  if (from.config.teacher == TeacherMode::off) return;
  add("teacher", from.margins.trial().state());
  add("student", from.margins.release().state());
}

// Only candidates with evidence have values.
void add_candidates(Families& families, const placement::CandidateTrials& trials) {
  prometheus::MetricFamily& family = families.family("wattle_controller_candidate_difference_ratio",
                                                     "Measured energy per unit of work over the floor's: mean, and "
                                                     "bounds of the 95% interval that is valid at any time.",
                                                     prometheus::MetricType::Gauge);
  for (const placement::Candidate each : placement::kCandidates) {
    const auto add = [&](const char* bound, double log_ratio) {
      Families::add(family, {{"candidate", std::string(trials.name(each))}, {"bound", bound}}, std::expm1(log_ratio));
    };
    if (trials.reference(each) != placement::Candidate::floor) continue;
    if (const auto mean = trials.difference(each)) add("mean", *mean);
    const auto interval = trials.interval(each);
    if (!interval) continue;
    add("low", interval->low);
    add("high", interval->high);
  }
}

void add_gates(Families& families, const Parts& from) {
  add_network_states(families, from);
  if (from.decider.engine().measured()) add_candidates(families, from.decider.engine().trials());
}

void add_learning(Families& families, const Learning& learning) {
  if (!learning.on()) return;
  const TrainerFigures figures = learning.figures();
  families.counter("wattle_controller_gradient_steps_total", "Gradient steps, including those before a restart.",
                   figures.steps);
  families.gauge("wattle_controller_loss", "Running mean of the loss, relative to the standard deviation of rewards.",
                 figures.loss);
  families.gauge("wattle_controller_mean_q", "Running mean of Q of the chosen actions.", figures.mean_q);
  families.gauge("wattle_controller_reward_centre", "Mean reward that the learner subtracts from each reward.",
                 figures.reward_centre);
}

}  // namespace

Document metrics_text(const Parts& from) {
  const auto families = std::make_shared<Families>();
  const auto savings = std::make_shared<SavingsNow>();
  const auto begin = [&from, families] {
    add_states(*families, from.decider);
    add_telemetry(*families, from);
    add_roles(*families, from.roles);
    add_store(*families, from.store);
    add_decisions(*families, from);
    add_watch(*families, from.watch);
    add_modes(*families, from);
    add_gates(*families, from);
    add_provision(*families, from.requests, from.replicas);
    add_sizing(*families, from.sizing);
    add_margins(*families, from);
    add_shims(*families, from.shims, from.watch.on(), from.clock.mono());
    add_page(*families, from.live);
    add_sleep(*families, from.sleep);
    add_sleep_states(*families, from.sleep);
    add_certificates(*families, from);
    add_learning(*families, from.learning);
    return false;
  };
  return then(in_order({begin, add_nodes(*families, from), find_savings(from, savings)}), [families, savings] {
    add_savings(*families, *savings);
    return ready(Result<std::string>(families->text()));
  });
}

}  // namespace wattle::controller
