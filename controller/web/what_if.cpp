#include "controller/web/what_if.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/json/value.hpp"
#include "common/parse.hpp"
#include "controller/decisions/decider.hpp"
#include "controller/state/cluster_state.hpp"
#include "controller/state/sane_request.hpp"
#include "controller/web/cluster_json.hpp"
#include "controller/web/decision_json.hpp"

namespace wattle::controller {

using json = SortedJson;

namespace {

constexpr std::size_t kCandidatesReported = 20;

bool of_reward(const std::string& name) {
  return name == "reward" || name == "load" || name == "expression" || name == "reference_w" || name == "horizon_s" ||
         name.starts_with("weight.");
}

// The request, or a variant of it.
struct Question {
  placement::PodSpec pod;
  std::vector<std::string> candidates;
  placement::RewardConfig reward;
};

Result<double> amount(const Arguments& arguments, const char* name, double otherwise) {
  const auto given = arguments.find(name);
  if (given == arguments.end()) return otherwise;
  const auto value = parse::quantity(given->second);
  if (!value)
    return fail(Errc::malformed, std::string("argument ") + name, "'" + given->second + "' is not a quantity",
                "for example 250m, 1.5, 64Mi or 2Gi");
  return *value;
}

// Returns the pod's request; for a decision from before a restart it is known only while the pod runs.
Result<placement::PodSpec> asked_for(const ClusterState& state, const LoggedDecision& entry) {
  if (entry.asked) return *entry.asked;
  if (const Pod* pod = state.pod(entry.decision.pod_uid); pod != nullptr) return pod->spec;
  return fail(Errc::not_found, "decision " + std::to_string(entry.decision.id),
              "was made before the last restart and its pod has ended, so its requests are unknown",
              "use a newer decision; list them with `wattle decisions`");
}

Result<std::vector<std::string>> named_nodes(const Arguments& arguments, const LoggedDecision& entry) {
  std::vector<std::string> names;
  const auto given = arguments.find("without");
  if (given == arguments.end() || given->second.empty()) return names;
  for (const std::string_view name : parse::split(given->second, ',')) names.emplace_back(parse::trim(name));
  const auto& all = entry.decision.candidates;
  for (const std::string& name : names) {
    if (std::any_of(all.begin(), all.end(), [&](const wire::Candidate& each) { return each.node == name; })) continue;
    return fail(
        Errc::not_found, "node " + name,
        "it is not a candidate of decision " + std::to_string(entry.decision.id) + ", so excluding it changes nothing",
        "`wattle explain " + std::to_string(entry.decision.id) + "` lists the candidates");
  }
  return names;
}

Result<placement::RewardConfig> other_reward(const RolloutSpec& now, const Arguments& arguments) {
  Arguments of_rewards;
  std::copy_if(arguments.begin(), arguments.end(), std::inserter(of_rewards, of_rewards.end()),
               [](const auto& each) { return of_reward(each.first); });
  WATTLE_TRY(const RolloutSpec spec, with_changes(now, of_rewards));
  return spec.reward;
}

Status known_arguments(const Arguments& arguments) {
  bool other = false;
  for (const auto& [name, value] : arguments) {
    const bool differs = of_reward(name) || name == "without" || name == "cpu" || name == "memory";
    if (!differs && name != "pod" && name != "limit")
      return fail(Errc::malformed, "argument " + name, "unknown argument",
                  "use one of pod, cpu, memory, without, reward, load, expression, reference_w, "
                  "horizon_s, weight.NAME, limit");
    other = other || differs;
  }
  if (other) return {};
  return fail(Errc::malformed, "what-if", "contains no change",
              "pass a weight, a reward, a request or a node to exclude");
}

json answer_json(const LoggedDecision& entry, const Question& question, std::size_t limit) {
  json reported = explained_json(entry);
  for (const char* name :
       {"id", "wall_ns", "pod_uid", "pod_name", "pod_namespace", "mode", "model_step", "model", "propensity",
        "explored", "placed_on", "decide_us", "deferred", "next_pods", "outcome", "features"})
    reported.erase(name);
  json& candidates = reported["candidates"];
  if (candidates.size() > limit)
    candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(limit), candidates.end());
  reported["of_candidates"] = entry.candidates;
  reported["cpu_request_cores"] = question.pod.request.cpu_cores;
  reported["memory_request_bytes"] = question.pod.request.memory_bytes;
  reported["reward"] = reward_json(question.reward);
  return reported;
}

struct Variant {
  Question as_is, otherwise;
  std::size_t limit = 0;
  json reported;  // the subject of both answers
};

Result<Variant> variant_of(const Parts& from, const Arguments& arguments) {
  WATTLE_CHECK(known_arguments(arguments));
  Variant made;
  WATTLE_TRY(made.limit, parse_limit(arguments, kCandidatesReported));
  WATTLE_TRY(const LoggedDecision* entry, newest_decision(from.decider.log(), arguments));
  Question& as_is = made.as_is;
  WATTLE_TRY(as_is.pod, asked_for(from.state, *entry));
  as_is.reward = from.decider.spec().reward;
  for (const wire::Candidate& each : entry->decision.candidates) as_is.candidates.push_back(each.node);
  Question& otherwise = made.otherwise = as_is;
  WATTLE_TRY(const double cpu_cores, amount(arguments, "cpu", as_is.pod.request.cpu_cores));
  WATTLE_TRY(const double memory_bytes, amount(arguments, "memory", as_is.pod.request.memory_bytes));
  otherwise.pod.request = sane_request(cpu_cores, memory_bytes);
  WATTLE_TRY(otherwise.reward, other_reward(from.decider.spec(), arguments));
  WATTLE_TRY(const std::vector<std::string> without, named_nodes(arguments, *entry));
  const std::set<std::string_view> out(without.begin(), without.end());
  std::erase_if(otherwise.candidates, [&](const std::string& name) { return out.contains(name); });
  made.reported = json{{"decision", entry->decision.id},       {"pod_uid", entry->decision.pod_uid},
                       {"pod_name", entry->decision.pod_name}, {"pod_namespace", entry->decision.pod_namespace},
                       {"wall_ns", to_ns(from.clock.wall())},  {"without", without}};
  return made;
}

}  // namespace

Document what_if_text(const Parts& from, const Arguments& arguments) {
  auto variant = variant_of(from, arguments);
  if (!variant) return ready(Result<std::string>(forward_error(variant)));
  const auto made = std::make_shared<Variant>(std::move(*variant));
  const auto answer = [&from, made](const char* name, const Question& question) {
    made->reported[name] = answer_json(from.decider.asks().what_if(question.pod, question.candidates, question.reward),
                                       question, made->limit);
    return false;
  };
  return then([made, answer] { return answer("as_is", made->as_is); },
              [made, answer] {
                answer("otherwise", made->otherwise);
                return ready(Result<std::string>(json{{"what_if", std::move(made->reported)}}.dump()));
              });
}

}  // namespace wattle::controller
