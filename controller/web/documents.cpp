#include "controller/web/documents.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "common/stats/quantile.hpp"
#include "common/version.hpp"
#include "controller/config.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/ingest/telemetry.hpp"
#include "controller/kube/watch.hpp"
#include "controller/rollout/rollout_manager.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/shims.hpp"
#include "controller/store/store.hpp"
#include "controller/trainer/learning.hpp"
#include "controller/web/alarms.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/decision_json.hpp"
#include "controller/web/findings.hpp"
#include "controller/web/fleet_json.hpp"
#include "controller/web/history_json.hpp"
#include "controller/web/lists.hpp"
#include "controller/web/margins_json.hpp"
#include "controller/web/model_json.hpp"
#include "controller/web/provision_json.hpp"
#include "controller/web/record_json.hpp"
#include "controller/web/saving_json.hpp"
#include "controller/web/savings_json.hpp"
#include "controller/web/series.hpp"
#include "controller/web/shims_json.hpp"
#include "controller/web/sleep_json.hpp"
#include "controller/web/sleep_states.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

constexpr std::array<std::string_view, 22> kDocuments{
    "decisions", "doctor", "explain", "fleet", "gaps",   "heat",   "history", "latency",
    "margins",   "models", "node",    "nodes", "pod",    "pods",   "policy",  "provision",
    "record",    "report", "savings", "sleep", "status", "what-if"};
constexpr Duration kAskRateWindow = std::chrono::seconds(10);

std::string dump(const json& object) { return object.dump(); }

json contenders_json(const std::vector<Contender>& contenders) {
  json list = json::array();
  for (const Contender& one : contenders) {
    json measured = nullptr;
    if (one.measured)
      measured = {{"floor", one.measured->floor},      {"difference_ratio", one.measured->ratio},
                  {"low", or_null(one.measured->low)}, {"high", or_null(one.measured->high)},
                  {"groups", one.measured->groups},    {"wait_ratio", or_null(one.measured->wait_ratio)}};
    list.push_back({{"who", one.who},
                    {"serves", one.serves},
                    {"state", one.state ? json(stats::to_string(*one.state)) : json(nullptr)},
                    {"why", text_or_null(one.why)},
                    {"certificate", text_or_null(one.certificate)},
                    {"measured", std::move(measured)},
                    {"text", contender_text(one)}});
  }
  return list;
}

json contenders_text(const std::vector<Contender>& contenders) {
  std::string text;
  for (const Contender& one : contenders) text += (text.empty() ? "" : "; ") + contender_text(one);
  return text_or_null(text);
}

std::string status(const Parts& from, const FleetSums& sums) {
  const MonoTime now = from.clock.mono();
  const DeciderFigures& decided = from.decider.figures();
  const TrainerFigures learned = from.learning.figures();
  std::uint64_t connected = 0, workloads = 0;
  for (const auto& [name, node] : from.state.nodes()) {
    const bool sleeps = may_be_silent(from.sleep, name) && glance(from, name, node).asleep;
    connected += node.connected && !sleeps ? 1 : 0;
    workloads += node.workloads.size();
  }
  const double uptime_s = seconds(now - from.started);
  const auto recent = std::count_if(decided.decided_at.begin(), decided.decided_at.end(),
                                    [&](MonoTime at) { return now - at < kAskRateWindow; });
  const std::vector<double> decide_us(decided.decide_us.begin(), decided.decide_us.end());
  const bool explores = from.decider.engine().policy().explores;
  const NetworkChoice::InUse in_use = from.decider.networks().in_use();
  const std::vector<Contender> contenders = from.decider.networks().contenders();
  json document = {
      {"version", kVersion},
      {"epoch", from.epoch},
      {"uptime_s", uptime_s},
      {"started_wall_ns", to_ns(from.clock.wall() - (now - from.started))},
      {"page_port", from.config.http_port},
      {"mode", from.decider.spec().mode.text()},
      {"policy", from.decider.spec().policy},
      {"reward", placement::to_string(from.decider.engine().options().reward.preset)},
      {"mode_reason", from.mode_reason},
      {"nodes", from.state.nodes().size()},
      {"nodes_connected", connected},
      {"nodes_asleep", sums.asleep},
      {"workloads", workloads},
      {"power_w", or_null(sums.power_w())},
      {"estimated_w", or_null(sums.estimated_w)},
      {"decisions", decided.decisions},
      {"decided_by", decided_by_json(from.decider.log())},
      {"placements", decided.placements},
      {"outcomes", decided.outcomes},
      {"pods_pending", from.state.pods().pending()},
      {"neutral", decided.by("neutral")},
      {"decisions_per_s", static_cast<double>(recent) / std::clamp(uptime_s, 1.0, seconds(kAskRateWindow))},
      {"decide_p50_us", or_null(stats::quantile(decide_us, 0.5))},
      {"decide_p99_us", or_null(stats::quantile(decide_us, 0.99))},
      {"model_step", in_use.network ? in_use.network->step() : 0},
      {"model_from", text_or_null(in_use.version.loaded_from)},
      {"network_serves", contenders_text(contenders)},
      {"who_serves", contenders_json(contenders)},
      {"network_gated", text_or_null(from.decider.engine().gated_why())},
      {"gradient_steps", learned.steps},
      {"gradient_steps_per_s", or_null(learned.steps_per_s)},
      {"replay", learned.replay},
      {"loss", or_null(learned.loss)},
      {"mean_reward", or_null(decided.mean_reward())},
      {"epsilon", explores ? json(from.decider.networks().epsilon()) : json(nullptr)},
      {"samples", from.telemetry.figures().records},
      {"samples_refused", from.telemetry.figures().refused},
      {"budgets", budgets_json(from.decider.engine().cluster_model().pod_time())},
      {"idle", idle_json(from.config.tariff, sums, could_sleep(from, sums))},
      {"asks", asks_json(from.shims, from.watch.on(), now)},
      {"shims", shims_json(from.shims, now)},
      {"modelled", modelled_json(saving_now(from), from.config.tariff)},
      {"alarms", alarms_json(from, sums)},
      {"withheld", withheld_json(from)}};
  from.config.tariff.add_to(document, per_day_j(sums.power_w()), "_per_day");
  return dump(document);
}

Result<std::string> one_node(const Parts& from, const Arguments& arguments) {
  WATTLE_TRY(const std::string name, required(arguments, "name", "pass the name of the node"));
  WATTLE_TRY(const Node* node, named_node(from, name));
  return dump({{"node", node_details_json(from, name, *node)}});
}

// The newest decisions. Asks that are served between the steps add entries and push out old ones.
Document decisions(const Parts& from, const Arguments& arguments) {
  auto limit = parse_limit(arguments, 20);
  if (!limit) return ready(Result<std::string>(forward_error(limit)));
  const auto& entries = from.decider.log().entries();
  const auto ids = std::make_shared<std::vector<std::uint64_t>>();
  for (auto entry = entries.rbegin(); entry != entries.rend() && ids->size() < *limit; ++entry)
    ids->push_back(entry->decision.id);
  const auto text = std::make_shared<std::string>(R"({"decisions":[)");
  Steps steps = each_of(*ids, [&from, ids, text](std::uint64_t id) {
    if (const LoggedDecision* entry = from.decider.log().find(id))
      text->append(text->back() == '[' ? "" : ",").append(dump(decision_json(*entry)));
  });
  return then(std::move(steps), [text] { return ready(Result<std::string>(*text + "]}")); });
}

Result<std::string> explain(const Decider& decider, const Arguments& arguments) {
  WATTLE_TRY(const LoggedDecision* entry, newest_decision(decider.log(), arguments));
  return dump(
      {{"decision", explained_json(*entry)}, {"budgets", budgets_json(decider.engine().cluster_model().pod_time())}});
}

// Latency to a target: the latest measurement of each node with fresh telemetry, and whether it may be acted upon.
Result<std::string> latency(const Parts& from, const Arguments& arguments) {
  placement::PodSpec pod;
  pod.latency_target = argument(arguments, "target");
  json p50_ms = json::object();
  for (const auto& [name, node] : from.state.nodes()) {
    const bool fresh =
        node.sampled_at && seconds(from.clock.mono() - *node.sampled_at) <= from.config.decide.mask.stale_after_s;
    if (!fresh) continue;
    if (const auto known = placement::latency_for(*from.state.node_view(name), pod)) p50_ms[name] = *known;
  }
  return dump({{"acting", acts(from.decider.arm().arm)}, {"nodes", std::move(p50_ms)}});
}

// The newest runs of records that are not in the store.
Result<std::string> gaps(const Store& store) {
  if (!store.on())
    return fail(Errc::not_found, "gaps", "no store is configured", "set store.path to a file on a local disk");
  json list = json::array();
  const auto recent = store.recent_gaps();
  for (auto gap = recent.rbegin(); gap != recent.rend(); ++gap)
    list.push_back({{"node", gap->node},
                    {"incarnation", gap->incarnation},
                    {"first_seq", gap->first_seq},
                    {"last_seq", gap->last_seq},
                    {"records", gap->records()},
                    {"why", gap->why},
                    {"noticed_wall_s", gap->noticed_s}});
  return dump({{"gaps", std::move(list)}});
}

Result<std::string> models(const Learning& learning, const Decider& decider) {
  if (!learning.on()) return fail(Errc::not_found, "models", "learning is off", "set learn.enabled: true");
  const TrainerFigures learned = learning.figures();
  ModelList list = learning.models();
  list.gated = decider.engine().gated_why();
  return models_text(list, {decider.figures().mean_reward(), learned.reward_centre, learned.td_error, learned.loss});
}

Document doctor(const Parts& from) {
  const auto list = std::make_shared<json>(json::array());
  Steps steps = each_of(from.state.nodes(), [&from, list](const auto& item) {
    const auto& [name, node] = item;
    json age_ms = nullptr;
    if (node.sampled_at) age_ms = seconds(from.clock.mono() - *node.sampled_at) * 1e3;
    const auto ahead_s = from.telemetry.clocks().ahead_s(name);
    list->push_back({{"name", name},
                     {"connected", node.connected},
                     {"power", power_json(from.sleep, name)},
                     {"age_ms", age_ms},
                     {"clock_ahead_s", or_null(ahead_s)},
                     {"findings", findings_json(node)}});
  });
  return then(std::move(steps), [&from, list] {
    json findings = controller_findings(from);
    const bool ok = std::none_of(findings.begin(), findings.end(),
                                 [](const json& finding) { return finding.at("state") == "failed"; });
    return ready(Result<std::string>(
        dump({{"controller", {{"ok", ok}, {"findings", std::move(findings)}}}, {"nodes", std::move(*list)}})));
  });
}

// The network or prior that ranks nodes for the reward preset in force.
std::string ranked_by(const Decider& decider) {
  const std::string preset(placement::to_string(decider.spec().reward.preset));
  if (!decider.engine().policy().learns) return "the policy " + decider.spec().policy + ", which uses no network";
  if (decider.engine().measured()) return decider.engine().trials().why();
  const NetworkChoice::InUse in_use = decider.networks().in_use();
  if (in_use.network == nullptr) return "the prior of " + preset + ": no network for that preset is in use";
  const std::string step = ", at step " + std::to_string(in_use.network->step());
  const std::string network = "a network for " + preset + " trained from " +
                              (in_use.version.began.empty() ? "the prior only" : in_use.version.began) + step;
  return network + (in_use.network->on_prior() ? "" : ", without the prior");
}

std::string policy_text(const Parts& from) {
  json policy = from.rollout.document();
  policy["modelled"] = modelled_json(saving_now(from), from.config.tariff);
  for (const std::string arm : {"treated", "control"}) {
    json& saving = policy["saving"];
    const json& energy_j = saving[arm + "_j_per_core_hour"];
    from.config.tariff.add_to(saving, energy_j.is_null() ? std::nullopt : std::optional(energy_j.get<double>()),
                              "_" + arm + "_per_core_hour");
  }
  policy["ranked_by"] = ranked_by(from.decider);
  policy["candidates"] = contenders_json(from.decider.networks().contenders());
  policy.update(budgets_json(from.decider.engine().cluster_model().pod_time()));
  return dump(policy);
}

// The documents that are built in one step.
Result<std::string> short_document(const Parts& from, const std::string& what, const Arguments& arguments) {
  if (what == "node") return one_node(from, arguments);
  if (what == "pod") return pod_text(from, arguments);
  if (what == "explain") return explain(from.decider, arguments);
  if (what == "gaps") return gaps(from.store);
  if (what == "margins") return margins_text(from, arguments);
  if (what == "provision") return provision_text(from, arguments);
  if (what == "latency") return latency(from, arguments);
  if (what == "models") return models(from.learning, from.decider);
  if (what == "policy") return policy_text(from);
  std::string all;
  for (const std::string_view name : kDocuments) all.append(all.empty() ? "use one of " : ", ").append(name);
  return fail(Errc::not_found, what, "unknown document", all);
}

// A document that needs sums over all nodes.
template <class Make>
Document with_sums(const Parts& from, Make make) {
  const auto sums = std::make_shared<FleetSums>();
  return then(sum_fleet(from, sums), [sums, make] { return ready(make(*sums)); });
}

}  // namespace

Finding parse_finding(const std::string& text) {
  const auto name_end = text.find(": ");
  if (name_end == std::string::npos) return {"", "lost", text, ""};
  Finding finding{text.substr(0, name_end), "lost", text.substr(name_end + 2), ""};
  for (const char* state : {"ok", "lost", "failed", "absent"}) {
    const std::string opening(state);
    if (finding.detail != opening && !finding.detail.starts_with(opening + ":")) continue;
    finding.state = opening;
    finding.detail =
        parse::trim(std::string_view(finding.detail).substr(std::min(finding.detail.size(), opening.size() + 1)));
    break;
  }
  // The fix is in the last pair of parentheses, which may contain others.
  if (finding.state == "ok" || finding.state == "absent" || !finding.detail.ends_with(")")) return finding;
  std::size_t open = finding.detail.size(), depth = 0;
  do {
    --open;
    if (finding.detail[open] == ')') ++depth;
    if (finding.detail[open] == '(') --depth;
  } while (open > 0 && depth > 0);
  if (depth > 0 || open == 0 || finding.detail[open - 1] != ' ') return finding;
  finding.fix = finding.detail.substr(open + 1, finding.detail.size() - open - 2);
  finding.detail.resize(open - 1);
  return finding;
}

std::string index_text(const std::vector<std::string>& routes) {
  json names = json::array();
  for (const std::string_view name : kDocuments) names.push_back(name);
  return dump({{"version", kVersion}, {"documents", std::move(names)}, {"routes", routes}});
}

Document document(const Parts& from, const std::string& what, const Arguments& arguments) {
  if (what == "status")
    return with_sums(from, [&from](const FleetSums& sums) -> Result<std::string> { return status(from, sums); });
  if (what == "nodes") return nodes_text(from, arguments);
  if (what == "pods") return pods_text(from, arguments);
  if (what == "fleet")
    return with_sums(from, [&from](const FleetSums& sums) -> Result<std::string> { return fleet_text(from, sums); });
  if (what == "heat") return heat_text(from, true, argument(arguments, "label"));
  if (what == "history") return history_text(from, arguments);
  if (what == "decisions") return decisions(from, arguments);
  if (what == "doctor") return doctor(from);
  if (what == "savings") return savings_text(from, arguments);
  if (what == "sleep") return sleep_text(from, arguments);
  if (what == "record") return record_nodes_text(from.state, arguments);
  return ready(short_document(from, what, arguments));
}

}  // namespace wattle::controller
