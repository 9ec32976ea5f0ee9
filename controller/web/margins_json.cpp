#include "controller/web/margins_json.hpp"

#include <algorithm>
#include <vector>

#include "common/json/value.hpp"
#include "controller/config.hpp"
#include "controller/kube/watch.hpp"
#include "controller/provision/margin_teacher.hpp"
#include "controller/provision/prometheus.hpp"
#include "controller/provision/replica_place.hpp"
#include "controller/web/cluster_json.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;

constexpr std::size_t kMostOut = 100;

std::string as_percent(double share) {
  return std::to_string(static_cast<int>(share * 1000 + 0.5) / 10.0).substr(0, 4) + "%";
}

// Explains why the rule or the teacher serves.
std::string verdict_of(TeacherMode mode, const MarginTeacher& margins) {
  const MarginTrial& trial = margins.trial();
  const auto& test = trial.test();
  if (mode == TeacherMode::off) return "the rule is in use because provisioning.teacher is off";
  if (!margins.learned()) return "the rule is in use because learning is off (learn.enabled)";
  if (trial.rolled_back())
    return "the rule is in use because the teacher was rolled back: " + as_percent(trial.saved().teacher.over_ratio) +
           " of its minutes were over target, compared with " + as_percent(trial.saved().rule.over_ratio) +
           " of the rule's (reset by setting provisioning.teacher to another mode)";
  if (trial.mode() == TeacherMode::shadow)
    return "the rule is in use in mode shadow; the teacher learns from it and reports its own choices";
  const std::string pairs = std::to_string(test.blocks()) + " pairs of blocks";
  if (!test.in_use())
    return "the teacher is not shown to cost less than the rule in " + pairs + " and is used in half of the blocks";
  return "the teacher is shown to cost less than the rule in " + pairs +
         (trial.mode() == TeacherMode::live ? " and is used except in one pair of four"
                                            : "; in mode canary it is used in half of the blocks");
}

json side_json(const TrialSide& side) {
  return {{"minutes", side.minutes}, {"waste", side.waste}, {"minutes_over_ratio", side.over_ratio}};
}

std::string why_of(const Parts& from, const SteeredService& of) {
  if (!of.known && of.minute.student_out)
    return "the node's student was withdrawn after too much throttling; throttling sets the margin";
  if (!of.known && from.margins.release().state() == stats::NetworkState::in_use)
    return "the node does not know the response times: the student is in use if the node accepts margins";
  if (!of.known)
    return from.traffic.config().enabled()
               ? "the rule is in use because neither the node nor Prometheus reports response times"
               : "the rule is in use because the node does not know the response times";
  if (from.margins.trial().mode() < TeacherMode::canary)
    return "the rule is in use; the teacher only reports its choices";
  if (of.guarded)
    return "the rule is in use until the teacher's block ends because more than one request in twenty was late";
  if (of.student_next) return "the student's minute, which is compared with its teacher's";
  if (of.explored) return "the teacher's minute, with exploration";
  return of.teacher_next ? "the teacher's minute" : "the rule's minute";
}

json memory_json(const LimitMinute& minute) {
  if (!minute.memory_granted_bytes || !minute.memory_used_bytes) return nullptr;
  return {{"granted_bytes", *minute.memory_granted_bytes},
          {"used_bytes", *minute.memory_used_bytes},
          {"used_over_peak", minute.memory_used_over_peak},
          {"short_ratio", minute.memory_short_ratio},
          {"margin_ratio", or_null(minute.memory_margin_ratio)}};
}

json expected_json(const std::optional<placement::ExpectedRate>& of) {
  if (!of) return nullptr;
  return {{"rate_rps", of->rate_rps}, {"low_rps", of->low_rps}, {"high_rps", of->high_rps}};
}

json forecast_json(const placement::ForecastScore& of) {
  if (of.minutes == 0) return nullptr;
  return {{"minutes", of.minutes},
          {"rate_rps", of.rate_rps},
          {"error_rps", of.error_rps},
          {"last_error_rps", of.last_error_rps},
          {"within_ratio", of.within_ratio}};
}

json reported_by(ReportedBy whom) { return whom == ReportedBy::none ? json(nullptr) : json(to_string(whom)); }

json service_json(const Parts& from, const std::string& node, const std::string& name, const SteeredService& of) {
  const LimitMinute& minute = of.minute;
  return {{"node", node},
          {"service", name},
          {"minute", minute.number},
          {"used_cores", minute.used_cores},
          {"granted_cores", minute.granted_cores},
          {"throttled_ratio", minute.throttled_ratio},
          {"requests_per_s", or_null(of.rate_rps)},
          {"requests_by", reported_by(of.rate_by)},
          {"latency_by", reported_by(of.latency_by)},
          {"expected", expected_json(of.expected)},
          {"forecast", forecast_json(of.forecast)},
          {"over_ratio", minute.requests && *minute.requests > 0
                             ? json(static_cast<double>(*minute.requests_over) / static_cast<double>(*minute.requests))
                             : json(nullptr)},
          {"margin_ratio", minute.margin_ratio},
          {"steered", minute.steered},
          {"memory", memory_json(minute)},
          {"student_out", minute.student_out},
          {"guarded", of.guarded},
          {"rule",
           {{"margin_ratio", minute.rule_margin_ratio},
            {"memory_margin_ratio", minute.memory_margin_ratio ? json(models::provision::kRuleMemory) : json(nullptr)},
            {"action", action_word(of.rule_action)}}},
          {"teacher",
           {{"margin_ratio", of.wanted_margin},
            {"memory_margin_ratio", or_null(of.wanted_memory)},
            {"action", action_word(of.action)}}},
          {"gain", of.gain},
          {"cost", of.known ? json(of.cost) : json(nullptr)},
          {"waste", of.known ? json(of.waste) : json(nullptr)},
          {"next", of.student_next   ? "student"
                   : of.teacher_next ? "teacher"
                                     : "rule"},
          {"minutes", of.minutes},
          {"agreed", of.agreed},
          {"workload", text_or_null(of.replicas.workload)},
          {"replicas",
           of.replicas.wanted ? json{{"now", of.replicas.now}, {"wanted", *of.replicas.wanted}} : json(nullptr)},
          {"replicas_withheld", text_or_null(of.replicas.withheld)},
          {"why", why_of(from, of)}};
}

json prometheus_json(const PrometheusRates& traffic) {
  if (!traffic.config().enabled()) return nullptr;
  json queries = json::array();
  for (std::size_t i = 0; i < kTrafficQueries; ++i) {
    const auto query = traffic.figures().queries[i];
    if (!query.asked) continue;
    queries.push_back({{"key", key_of(static_cast<TrafficQuery>(i))},
                       {"answers", query.answers},
                       {"failures", query.failures},
                       {"series", query.series},
                       {"left_out", query.left_out},
                       {"age_s", query.age ? json(seconds(*query.age)) : json(nullptr)},
                       {"problem", text_or_null(query.problem)}});
  }
  return {{"url", traffic.config().url}, {"queries", std::move(queries)}};
}

// Lists services whose student is out, or that the teacher leaves to the rule for now.
json out_json(const MarginTeacher::Services& services) {
  json out = json::array();
  for (const auto& [name, service] : services) {
    if (out.size() == kMostOut) break;
    if (service.minute.student_out || service.guarded)
      out.push_back({{"node", name.first}, {"service", name.second}, {"who", service.guarded ? "teacher" : "student"}});
  }
  return out;
}

json student_json(const MarginTeacher& margins) {
  const StudentRelease& release = margins.release();
  const auto& test = release.trial().test();
  const auto trained = margins.trained();
  const auto learned = margins.learned();
  json agreement = nullptr;
  if (const auto judged = trained ? std::optional(trained->agreement) : learned ? learned->agreement : std::nullopt)
    agreement = {{"lessons", judged->lessons}, {"student_ratio", judged->student}, {"rule_ratio", judged->rule}};
  return {{"state", stats::to_string(release.state())},
          {"version", release.version()},
          {"why", release.why()},
          {"lessons", learned ? learned->lessons : 0},
          {"steps", learned ? learned->student_steps : 0},
          {"agreement", std::move(agreement)},
          {"pairs", test.blocks()},
          {"mean_difference", test.mean()},
          {"services", release.services()},
          {"services_out", release.out()},
          {"withdrawn", release.withdrawn()}};
}

json learned_json(const MarginLearnerFigures& of) {
  return {{"steps", of.steps},       {"resumed_steps", of.resumed_steps},
          {"minutes", of.minutes},   {"replay", of.replay},
          {"networks", of.networks}, {"loss", or_null(of.loss)},
          {"failures", of.failures}, {"problem", text_or_null(of.problem)}};
}

void add_traffic(Families& families, const PrometheusFigures& figures) {
  std::size_t series = 0;
  for (const auto& query : figures.queries) series += query.series;
  families.gauge("wattle_controller_prometheus_series", "Series with rates or latencies in the last answers.",
                 static_cast<double>(series));
}

}  // namespace

Result<std::string> margins_text(const Parts& from, const Arguments& arguments) {
  if (from.config.teacher == TeacherMode::off)
    return fail(Errc::not_found, "margins", "provisioning.teacher is off", "set provisioning.teacher: shadow");
  WATTLE_TRY(const std::size_t limit, parse_limit(arguments, 1000));
  const MarginTrial& trial = from.margins.trial();
  const TrialState state = trial.saved();
  const auto learned = from.margins.learned();
  json document = {{"mode", to_string(from.config.teacher)},
                   {"in_force", to_string(trial.mode())},
                   {"reward", from.config.teacher_reward == models::provision::TeacherReward::drpc ? "drpc" : "waste"},
                   {"state", stats::to_string(trial.state())},
                   {"verdict", verdict_of(from.config.teacher, from.margins)},
                   {"replicas_withheld", text_or_null(no_replicas(from.replicas, from.watch.on()))},
                   {"evidence", trial.test().evidence()},
                   {"evidence_needed", trial.test().limit()},
                   {"pairs", trial.test().blocks()},
                   {"mean_difference", trial.test().mean()},
                   {"rule", side_json(state.rule)},
                   {"teacher", side_json(state.teacher)},
                   {"learned", learned ? learned_json(*learned) : json(nullptr)},
                   {"student", student_json(from.margins)},
                   {"beyond", from.margins.beyond()},
                   {"out", out_json(from.margins.services())},
                   {"prometheus", prometheus_json(from.traffic)}};
  const auto& services = from.margins.services();
  std::vector<MarginTeacher::Services::const_iterator> rows;
  for (auto at = services.begin(); at != services.end(); ++at) rows.push_back(at);
  std::stable_sort(rows.begin(), rows.end(), [](auto a, auto b) { return a->second.gain > b->second.gain; });
  document["more"] = rows.size() - std::min(rows.size(), limit);
  rows.resize(std::min(rows.size(), limit));
  json list = json::array();
  for (const auto& row : rows) list.push_back(service_json(from, row->first.first, row->first.second, row->second));
  document["services"] = std::move(list);
  return document.dump();
}

void add_margins(Families& families, const Parts& from) {
  if (from.config.teacher == TeacherMode::off) return;
  families.gauge("wattle_controller_margin_services", "Services with limits reported by their nodes.",
                 static_cast<double>(from.margins.services().size()));
  const StudentRelease& release = from.margins.release();
  families.counter("wattle_controller_margin_students_withdrawn_total", "Students that were withdrawn.",
                   release.withdrawn());
  if (from.traffic.config().enabled()) add_traffic(families, from.traffic.figures());
}

}  // namespace wattle::controller
