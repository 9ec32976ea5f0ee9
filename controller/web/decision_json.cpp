#include "controller/web/decision_json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "controller/web/cluster_json.hpp"
#include "placement/worth/features.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

json model_json(const LoggedDecision& entry) {
  if (entry.model.sha256.empty()) return nullptr;
  return {{"network_sha256", entry.model.sha256},
          {"step", entry.decision.model_step},
          {"loaded_from", text_or_null(entry.model.loaded_from)}};
}

json candidates_json(std::vector<wire::Candidate> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const wire::Candidate& a, const wire::Candidate& b) {
    if (a.masked.empty() != b.masked.empty()) return a.masked.empty();
    return a.masked.empty() && a.q > b.q;
  });
  json list = json::array();
  for (const wire::Candidate& candidate : candidates) {
    const bool open = candidate.masked.empty();
    const auto known = [&](double value) { return open ? number(value) : json(nullptr); };
    list.push_back({{"node", candidate.node},
                    {"masked", text_or_null(candidate.masked)},
                    {"score", candidate.score},
                    {"q", known(candidate.q)},
                    {"prior", known(candidate.prior)},
                    {"residual", known(candidate.residual)},
                    {"marginal_w", known(candidate.marginal_w)},
                    {"leaves_out", candidate.leaves_out},
                    {"wakes_for_next", candidate.wakes_for_next}});
  }
  return list;
}

template <class Specs, class Values>
void add_features(json& names, json& values, const Specs& specs, const Values& from) {
  names = json::array();
  values = json::array();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].name == "reserved") continue;
    names.push_back(std::string(specs[i].name));
    values.push_back(number(static_cast<double>(from[i])));
  }
}

json features_json(const LoggedDecision& entry) {
  if (!entry.features) return nullptr;
  json features;
  add_features(features["names"], features["winner"], placement::kNodeFeatureSpecs, entry.features->winner);
  features["runner_up"] = nullptr;
  if (entry.features->runner_up)
    add_features(features["names"], features["runner_up"], placement::kNodeFeatureSpecs, *entry.features->runner_up);
  add_features(features["pod_names"], features["pod"], placement::kPodFeatureSpecs, entry.features->pod);
  return features;
}

json terms_json(const std::optional<Contributions>& terms) {
  if (!terms) return nullptr;
  return {{"energy", number(terms->energy)},
          {"latency", number(terms->latency)},
          {"residual", number(terms->residual)},
          {"policy_value", number(terms->policy_value)},
          {"uncertainty", or_null(terms->uncertainty)}};
}

// Predicted watts that the pod adds on the advised node.
json advised_w(const wire::Decision& decision) {
  for (const wire::Candidate& candidate : decision.candidates)
    if (!decision.advice.empty() && candidate.node == decision.advice) return number(candidate.marginal_w);
  return nullptr;
}

json deferred_json(const wire::Decision& decision) {
  if (!(decision.defer_ms > 0)) return nullptr;
  return {{"again_s", number(decision.defer_ms / 1e3)}, {"until_ns", decision.defer_until_ns}};
}

}  // namespace

json decision_json(const LoggedDecision& entry) {
  const wire::Decision& decision = entry.decision;
  json outcome = nullptr;
  if (decision.outcome) {
    outcome = {{"node", decision.outcome->node},
               {"reward", number(decision.outcome->reward)},
               {"preset", text_or_null(entry.reward_preset)},
               {"end_of_episode", decision.outcome->end_of_episode},
               {"failure", text_or_null(decision.outcome->failure)},
               {"terms", decision.outcome->terms}};
  }
  return {{"id", decision.id},
          {"wall_ns", decision.wall_ns},
          {"pod_uid", decision.pod_uid},
          {"pod_name", decision.pod_name},
          {"pod_namespace", decision.pod_namespace},
          {"policy", decision.policy},
          {"mode", decision.mode},
          {"model_step", decision.model_step},
          {"model", model_json(entry)},
          {"advice", text_or_null(decision.advice)},
          {"propensity", number(decision.propensity)},
          {"explored", decision.explored},
          {"reason", decision.reason},
          {"decided_by", text_or_null(decision.decided_by)},
          {"marginal_w", advised_w(decision)},
          {"candidates", entry.candidates},
          {"masked", entry.masked},
          {"problems", decision.problems},
          {"placed_on", text_or_null(decision.placed_on)},
          {"decide_us", number(decision.decide_us)},
          {"deferred", deferred_json(decision)},
          {"next_pods", decision.next_pods},
          {"outcome", std::move(outcome)}};
}

Result<const LoggedDecision*> newest_decision(const DecisionLog& log, const Arguments& arguments) {
  WATTLE_TRY(const std::string pod, required(arguments, "pod", "pass the name or UID of the pod, or a decision ID"));
  if (const LoggedDecision* entry = log.newest(pod)) return entry;
  return fail(Errc::not_found, "pod " + pod, "no recent decision is about it",
              "list recorded decisions with `wattle decisions`");
}

json placed_because(const LoggedDecision& entry, const std::string& node) {
  const auto& all = entry.decision.candidates;
  const auto here = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.node == node; });
  if (here == all.end() || !here->masked.empty()) return nullptr;
  const auto better =
      std::count_if(all.begin(), all.end(), [&](const auto& each) { return each.masked.empty() && each.q > here->q; });
  std::array<char, 32> watts{};
  std::snprintf(watts.data(), watts.size(), "%.1f", here->marginal_w);
  return "adds " + std::string(watts.data()) + " W, ranked " + std::to_string(better + 1) + " of " +
         std::to_string(entry.candidates - entry.masked) + " nodes";
}

json explained_json(const LoggedDecision& entry) {
  json decision = decision_json(entry);
  decision["candidates"] = candidates_json(entry.decision.candidates);
  decision["winner"] = text_or_null(entry.winner);
  decision["runner_up"] = text_or_null(entry.runner_up);
  decision["winner_terms"] = terms_json(entry.winner_terms);
  decision["runner_up_terms"] = terms_json(entry.runner_up_terms);
  decision["demand_cores"] = number(entry.demand_cores);
  decision["features"] = features_json(entry);
  return decision;
}

}  // namespace wattle::controller
