#include "controller/decisions/decision_row.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "common/json/value.hpp"
#include "common/wire/codec.hpp"
#include "controller/state/sane_request.hpp"

namespace wattle::controller {
namespace {

using json = SortedJson;

constexpr std::size_t kMostCounted = 1'000'000;

tl::unexpected<Error> unreadable(const DecisionRow& row, const char* what) {
  return fail(Errc::malformed, "decision " + std::to_string(row.id), what,
              "the decision is skipped; no action is needed");
}

// The advised candidate, those of highest Q and the pod's node, in the order of the record.
std::vector<wire::Candidate> best_of(const LoggedDecision& entry) {
  const wire::Decision& decision = entry.decision;
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < decision.candidates.size(); ++i)
    if (decision.candidates[i].masked.empty()) order.push_back(i);
  const auto named = [&](std::size_t i) {
    const std::string& node = decision.candidates[i].node;
    return node == decision.advice || node == decision.placed_on || node == entry.winner || node == entry.runner_up;
  };
  // Ranks values that are not finite last.
  const auto value = [&](std::size_t i) {
    const double q = decision.candidates[i].q;
    return std::isfinite(q) ? q : std::numeric_limits<double>::lowest();
  };
  const auto before = [&](std::size_t a, std::size_t b) {
    if (named(a) != named(b)) return named(a);
    return value(a) > value(b);
  };
  const std::size_t most = std::min(order.size(), kKeptCandidates);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(most), order.end(), before);
  order.resize(most);
  std::sort(order.begin(), order.end());
  std::vector<wire::Candidate> best;
  best.reserve(most);
  for (const std::size_t i : order) best.push_back(decision.candidates[i]);
  return best;
}

json terms_row(const std::optional<Contributions>& terms) {
  if (!terms) return nullptr;
  return {terms->energy, terms->latency, terms->residual, terms->policy_value,
          terms->uncertainty ? json(*terms->uncertainty) : json(nullptr)};
}

bool read_terms(const json& row, std::optional<Contributions>& terms) {
  if (row.is_null()) return true;
  if (!row.is_array() || row.size() != 5) return false;
  // A number that was not finite is null.
  const auto at = [&](std::size_t i) { return row[i].is_number() ? row[i].get<double>() : std::nan(""); };
  terms = Contributions{at(0), at(1), at(2), at(3), std::nullopt};
  if (row[4].is_number()) terms->uncertainty = row[4].get<double>();
  return true;
}

// The fields needed to count the pod where it runs, and to learn from it.
json pod_row(const LoggedDecision& entry) {
  const auto& pod = entry.asked ? entry.asked : entry.recalled;
  if (!pod) return nullptr;
  const auto or_null = [](const std::optional<double>& value) { return value ? json(*value) : json(nullptr); };
  return {{"app", pod->app},
          {"owner", pod->owner},
          {"cpu_cores", pod->request.cpu_cores},
          {"memory_bytes", pod->request.memory_bytes},
          {"daemonset", pod->daemonset},
          {"latency_soft_ms", or_null(pod->latency_soft_ms)},
          {"latency_hard_ms", or_null(pod->latency_hard_ms)},
          {"latency_target", pod->latency_target}};
}

// A decision without a pod has null.
bool read_pod(const json& rest, const wire::Decision& decision, std::optional<placement::PodSpec>& pod) {
  if (!rest.contains("pod")) return false;
  const json& row = rest["pod"];
  if (row.is_null()) return true;
  for (const char* key : {"app", "owner", "latency_target"})
    if (!row[key].is_string()) return false;
  for (const char* key : {"cpu_cores", "memory_bytes"})
    if (!row[key].is_number()) return false;
  if (!row["daemonset"].is_boolean()) return false;
  const auto limit = [&](const char* key) {
    return row[key].is_number() ? std::optional(row[key].get<double>()) : std::nullopt;
  };
  pod.emplace();
  pod->uid = decision.pod_uid;
  pod->name = decision.pod_name;
  pod->pod_namespace = decision.pod_namespace;
  pod->app = row["app"].get<std::string>();
  pod->owner = row["owner"].get<std::string>();
  pod->request = sane_request(row["cpu_cores"].get<double>(), row["memory_bytes"].get<double>());
  pod->daemonset = row["daemonset"].get<bool>();
  pod->latency_soft_ms = limit("latency_soft_ms");
  pod->latency_hard_ms = limit("latency_hard_ms");
  pod->latency_target = row["latency_target"].get<std::string>();
  return true;
}

}  // namespace

DecisionRow decision_row(const LoggedDecision& entry) {
  const wire::Decision& from = entry.decision;
  wire::Decision decision;
  decision.id = from.id;
  decision.wall_ns = from.wall_ns;
  decision.pod_uid = from.pod_uid;
  decision.pod_name = from.pod_name;
  decision.pod_namespace = from.pod_namespace;
  decision.policy = from.policy;
  decision.mode = from.mode;
  decision.model_step = from.model_step;
  decision.advice = from.advice;
  decision.propensity = from.propensity;
  decision.explored = from.explored;
  decision.reason = from.reason;
  decision.candidates = best_of(entry);
  decision.problems = from.problems;
  decision.placed_on = from.placed_on;
  decision.outcome = from.outcome;
  decision.decide_us = from.decide_us;
  decision.decided_by = from.decided_by;
  decision.defer_ms = from.defer_ms;
  decision.defer_until_ns = from.defer_until_ns;
  decision.next_pods = from.next_pods;
  const json rest = {{"candidates", entry.candidates},
                     {"masked", entry.masked},
                     {"winner", entry.winner},
                     {"runner_up", entry.runner_up},
                     {"winner_terms", terms_row(entry.winner_terms)},
                     {"runner_up_terms", terms_row(entry.runner_up_terms)},
                     {"demand_cores", entry.demand_cores},
                     {"pod", pod_row(entry)},
                     {"network_sha256", entry.model.sha256},
                     {"loaded_from", entry.model.loaded_from},
                     {"judged_by", entry.judged_by},
                     {"reward_preset", entry.reward_preset}};
  return {from.id, from.wall_ns / 1'000'000'000, wire::encode(wire::Message(std::move(decision))), rest.dump()};
}

Result<LoggedDecision> parse_decision(const DecisionRow& row) {
  auto message = wire::decode(row.body);
  auto* decision = message ? std::get_if<wire::Decision>(&*message) : nullptr;
  if (decision == nullptr || decision->id != row.id)
    return unreadable(row, "its record is not a decision of that number");
  const json rest = json::read(row.rest, {.text_bytes = 16 << 20, .built_bytes = 128 << 20});
  if (!rest.is_object()) return unreadable(row, "the data next to its record is not a JSON object");
  LoggedDecision entry;
  bool sane = true;
  const auto take = [&](const char* key, auto& out, bool (json::*is)() const noexcept) {
    const auto found = rest.find(key);
    sane = sane && found != rest.end() && ((*found).*is)();
    if (sane) out = found->get<std::remove_reference_t<decltype(out)>>();
  };
  take("candidates", entry.candidates, &json::is_number_unsigned);
  take("masked", entry.masked, &json::is_number_unsigned);
  take("winner", entry.winner, &json::is_string);
  take("runner_up", entry.runner_up, &json::is_string);
  take("demand_cores", entry.demand_cores, &json::is_number);
  take("network_sha256", entry.model.sha256, &json::is_string);
  take("loaded_from", entry.model.loaded_from, &json::is_string);
  take("judged_by", entry.judged_by, &json::is_string);
  sane = sane && rest.contains("winner_terms") && read_terms(rest["winner_terms"], entry.winner_terms);
  sane = sane && rest.contains("runner_up_terms") && read_terms(rest["runner_up_terms"], entry.runner_up_terms);
  sane = sane && read_pod(rest, *decision, entry.recalled);
  if (!sane || entry.candidates > kMostCounted || entry.masked > entry.candidates ||
      decision->candidates.size() > entry.candidates)
    return unreadable(row, "the data next to its record lacks a field or has a field of the wrong type");
  if (const auto preset = rest.find("reward_preset"); preset != rest.end() && preset->is_string())
    entry.reward_preset = preset->get<std::string>();
  entry.decision = std::move(*decision);
  return entry;
}

}  // namespace wattle::controller
