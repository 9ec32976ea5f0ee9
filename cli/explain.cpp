// `wattle explain POD`: reports why a pod was placed on its node, and the outcome.
#include <cmath>
#include <map>

#include "cli/declare.hpp"
#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/parse.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
// Returns the candidate of that name, or an absent view.
View candidate_of(const std::vector<View>& candidates, const std::optional<std::string>& node) {
  for (const View& candidate : candidates)
    if (node && candidate["node"].text() == node) return candidate;
  return {};
}

// "q -0.210 = prior -0.250 + residual 0.040, marginal 4.2 W predicted"
std::string worth_of(const View& candidate) {
  return "q " + number(candidate["q"], 3) + " = prior " + number(candidate["prior"], 3) + " + residual " +
         number(candidate["residual"], 3) + ", adds " + watts(candidate["marginal_w"], "estimated");
}

// Lists the terms that make up the values of the best node and the runner-up.
std::string contributions(const View& decision) {
  std::string out;
  const auto add = [&](const char* title, const View& terms) {
    if (!terms.present()) return;
    out += std::string(title) + "energy " + number(terms["energy"], 3) + ", latency " + number(terms["latency"], 3) +
           ", learned " + number(terms["residual"], 3) + "; ranked by " + number(terms["policy_value"], 3);
    if (const auto spread = terms["uncertainty"].number())
      out += "; standard deviation of rewards around Q: " + number(*spread, 3);
    out += ".\n";
  };
  add("Terms of the best:      ", decision["winner_terms"]);
  add("Terms of the runner-up: ", decision["runner_up_terms"]);
  if (const auto demand = decision["demand_cores"].number())
    out += "Expected CPU use of the pod: " + number(*demand, 3) + " cores.\n";
  return out;
}

// "network of step 1200, sha256 3f2a91c07d14, as loaded from promoted"; the digest is that of `wattle model list`.
std::string network_of(const View& decision) {
  const View model = decision["model"];
  const auto digest = model["network_sha256"].text();
  if (!digest) {
    const auto step = decision["model_step"].number();
    return step && *step > 0 ? "network of step " + count(decision["model_step"]) : std::string("no network");
  }
  constexpr std::size_t kShown = 12;
  std::string text = "network of step " + count(model["step"]) + ", sha256 " + digest->substr(0, kShown);
  if (const auto name = model["loaded_from"].text()) text += ", as loaded from " + *name;
  return text;
}

// "1.3 W less than sim-01", "as much as sim-01"
std::string beside(double mine_w, double theirs_w, const std::string& other) {
  constexpr double kAlike_w = 0.05;
  const double less_w = theirs_w - mine_w;
  if (std::abs(less_w) < kAlike_w) return "the same as " + other;
  return number(std::abs(less_w), 1) + (less_w > 0 ? " W less than " : " W more than ") + other;
}

// Lists masked nodes by reason: "sim-00, sim-04: hard latency limit exceeded"
std::string impossible(const std::vector<View>& candidates) {
  std::map<std::string, std::vector<std::string>> nodes;
  for (const View& candidate : candidates)
    if (const auto masked = candidate["masked"].text()) nodes[*masked].push_back(candidate["node"].text_or());
  std::string out;
  for (const auto& [reason, names] : nodes) out += "Excluded: " + first_of(names) + ": " + reason + ".\n";
  return out;
}

// Lists the nodes that are left for the next pods.
std::string left_to_next(const View& decision, const std::vector<View>& candidates) {
  std::vector<std::string> names;
  for (const View& candidate : candidates)
    if (candidate["leaves_out"].number().value_or(0) + candidate["wakes_for_next"].number().value_or(0) > 0)
      names.push_back(candidate["node"].text_or());
  if (names.empty() || !decision["advice"].text()) return {};
  const auto next = decision["next_pods"].number().value_or(0);
  return "Left free for the next " + (next == 1 ? std::string("pod") : count(next) + " pods") + ": " + first_of(names) +
         ".\n";
}

// Summarises the advised node and the reason for people.
std::string in_short(const View& decision, const std::vector<View>& candidates) {
  const std::string pod = pod_label(decision["pod_name"], decision["pod_namespace"], decision["pod_uid"]);
  const auto advice = decision["advice"].text();
  if (const auto again_s = decision["deferred"]["again_s"].number(); !advice && again_s)
    return pod + " should wait (" + decision["reason"].text_or() + "); the scheduler was to retry it in " +
           number(std::ceil(*again_s), 0) + " s.\n";
  if (!advice)
    return pod + ": no node was advised (" + decision["reason"].text_or() + "); the scheduler's own plugins decided.\n";
  const auto winner = decision["winner"].text();
  const bool explored = decision["explored"].flag() == true && winner && *winner != *advice;
  const auto other = explored ? winner : decision["runner_up"].text();
  const auto mine_w = candidate_of(candidates, advice)["marginal_w"].number();
  const auto theirs_w = other == advice ? std::nullopt : candidate_of(candidates, other)["marginal_w"].number();
  std::string out = pod + ": " + *advice + " was advised";
  if (explored) out += " for exploration; the best node by current estimates is " + *winner;
  out += ".";
  if (mine_w) {
    out += " By the model, the pod adds " + number(*mine_w, 1) + " W there";
    if (theirs_w) out += ", " + beside(*mine_w, *theirs_w, *other) + (explored ? "" : ", the next best");
    out += ".";
  }
  return out + "\n" + left_to_next(decision, candidates) + impossible(candidates);
}

// Shows the details of the ranking.
std::string why(const View& decision, const std::vector<View>& candidates) {
  const auto winner = decision["winner"].text();
  const auto runner_up = decision["runner_up"].text();
  std::string out;
  if (const View best = candidate_of(candidates, winner); best.present())
    out += "Best:      " + *winner + ", " + worth_of(best) + ".\n";
  if (const View next = candidate_of(candidates, runner_up); next.present())
    out += "Runner-up: " + *runner_up + ", " + worth_of(next) + ".\n";
  else
    out += "Runner-up: none.\n";
  return out + contributions(decision);
}

// Keeps the order of the document: nodes that can take the pod in descending order of Q, then those that cannot.
Table candidates_table(const std::vector<View>& candidates, const std::string& advice, bool wide) {
  Table table{{"ADVISED", "NODE", ">Q", ">SCORE", "ADDS"}, {}};
  if (wide) table.columns.insert(table.columns.end(), {">PRIOR", ">RESIDUAL"});
  table.columns.push_back("EXCLUDED");
  for (const View& candidate : candidates) {
    const auto masked = candidate["masked"].text();
    const std::string node = candidate["node"].text_or();
    const bool advised = !advice.empty() && node == advice;
    const Tone tone = masked ? Tone::faint : advised ? Tone::good : Tone::plain;
    std::vector<Cell> row{{advised ? "*" : "", tone},
                          {node, tone},
                          number(candidate["q"], 3),
                          count(candidate["score"]),
                          watts(candidate["marginal_w"], "estimated")};
    if (wide)
      for (const char* value : {"prior", "residual"}) row.emplace_back(number(candidate[value], 3));
    row.push_back({masked.value_or(""), Tone::warning});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string features_text(const View& decision, bool colour) {
  const View features = decision["features"];
  if (!features.present()) return "Features: not recorded for this decision.\n";
  const auto value_at = [](const std::vector<View>& values, std::size_t i) {
    return i < values.size() ? number(values[i], 3) : std::string(kAbsent);
  };
  const auto names = features["names"].items();
  const auto winner = features["winner"].items();
  const auto runner_up = features["runner_up"].items();
  Table nodes{{"FEATURE",
               {decision["winner"].text_or("BEST"), Align::right},
               {decision["runner_up"].text_or("RUNNER-UP"), Align::right}},
              {}};
  for (std::size_t i = 0; i < names.size(); ++i)
    nodes.rows.push_back({names[i].text_or(), value_at(winner, i), value_at(runner_up, i)});
  const auto pod_names = features["pod_names"].items();
  const auto pod = features["pod"].items();
  Table of_pod{{"POD FEATURE", ">VALUE"}, {}};
  for (std::size_t i = 0; i < pod_names.size(); ++i) of_pod.rows.push_back({pod_names[i].text_or(), value_at(pod, i)});
  return to_text(nodes, colour) + "\n" + to_text(of_pod, colour);
}

std::string failure_text(const std::string& failure) {
  if (failure == "failed_start") return "it failed to start";
  if (failure == "crash") return "it crashed";
  if (failure == "oom_kill") return "it was killed because it ran out of memory";
  if (failure == "evicted") return "it was evicted";
  return printable(failure);
}

std::string outcome_text(const View& decision) {
  const auto placed = decision["placed_on"].text();
  std::string out =
      placed ? "The pod was placed on " + printable(*placed) : std::string("The pod has not appeared on any node yet");
  if (const auto advice = decision["advice"].text(); placed && advice && *placed != *advice)
    out += ", not on the advised node (" + printable(*advice) + ")";
  const View outcome = decision["outcome"];
  if (!outcome.present()) return out + "; the outcome is pending.\n";
  const auto preset = outcome["preset"].text();
  out += "; reward " + number(outcome["reward"], 3) + (preset ? " (" + printable(*preset) + ")" : "") + " on " +
         printable(outcome["node"].text_or()) +
         (outcome["end_of_episode"].flag() == true ? ", which ended an episode" : "") + ".\n";
  if (const auto failure = outcome["failure"].text()) out += "The pod failed there: " + failure_text(*failure) + ".\n";
  return out;
}

std::string terms_text(const View& decision, bool colour) {
  Table table{{"TERM", ">VALUE"}, {}};
  for (const auto& [name, value] : decision["outcome"]["terms"].members()) table.rows.push_back({name, value.any()});
  return table.rows.empty() ? "" : "\n" + to_text(table, colour);
}

// "Decision 17 by the plan (policy dqn, mode live) at ..., in 85 us."
std::string decided_text(const View& decision) {
  std::string out = "Decision " + count(decision["id"]);
  if (decision["decided_by"].text()) out += " by " + decider_of(decision);
  return out + " (policy " + decision["policy"].text_or() + ", mode " + decision["mode"].text_or() + ") at " +
         utc(decision["wall_ns"]) + ", in " + microseconds(decision["decide_us"]) +
         ".\nReason: " + decision["reason"].text_or() + ".\n";
}
}  // namespace

Result<std::string> render_explain(const Json& document, const Style& style) {
  WATTLE_TRY(const View decision, View(document).object("decision"));
  WATTLE_TRY(const std::vector<View> candidates, decision.list("candidates"));
  std::string said = in_short(decision, candidates) + outcome_text(decision) + decided_text(decision);
  for (const View& problem : decision["problems"].items()) said += "Problem: " + problem.any() + "\n";
  std::string out;
  parse::for_each_line(said, [&out](std::string_view line) { out += wrapped(std::string(line), 0); });
  out += "\n" + to_text(candidates_table(candidates, decision["advice"].text_or(""), style.wide), style.colour);
  if (!style.wide) return out + "\nSorted by Q. All features and terms: -o wide\n";
  out += "\n" + printable_lines("Propensity " + number(decision["propensity"], 2) + ", " + network_of(decision) +
                                ".\n" + why(decision, candidates));
  const View budgets = View(document)["budgets"];
  if (budgets.present())
    out += "Waiting now: " + waiting_cell(budgets["cpu_wait"]).text +
           ".\nLateness now: " + late_cell(budgets["late"]).text + ".\n";
  return out + "\n" + features_text(decision, style.colour) + terms_text(decision, style.colour);
}

namespace {
struct ExplainOptions {
  std::string pod, cpu, memory, reward, load, expression;
  std::vector<std::string> without, weights;
};

Outcome run_explain(const Invocation& invocation, const ExplainOptions& given) {
  std::map<std::string, std::string> asked;
  WATTLE_CHECK(as_misuse(add_weights(given.weights, asked)));
  const auto put = [&](const char* name, const std::string& value) {
    if (!value.empty()) asked[name] = value;
  };
  put("without", joined(given.without, ","));
  put("cpu", given.cpu);
  put("memory", given.memory);
  put("reward", given.reward);
  put("load", given.load);
  put("expression", given.expression);
  const bool what_if = !asked.empty();
  asked["pod"] = given.pod;
  return show(invocation, what_if ? "what-if" : "explain", asked, what_if ? render_what_if : render_explain);
}
}  // namespace

void declare_explain(CLI::App& command, Run& chosen) {
  auto& options = runs(command, chosen, run_explain);
  command.add_option("POD", options.pod, "Pod name, NAMESPACE/NAME, pod UID or decision ID")->required();
  const char* group = "What if, on the current cluster (changes nothing)";
  command.add_option("--without", options.without, "Nodes to exclude")->delimiter(',')->group(group);
  command.add_option("--cpu", options.cpu, "CPU request of the pod, for example 250m or 1.5")->group(group);
  command.add_option("--memory", options.memory, "Memory request of the pod, for example 64Mi or 2Gi")->group(group);
  command.add_option("--weight", options.weights, "Weight of preset weighted as NAME=NUMBER; can be repeated")
      ->group(group);
  command.add_option("--reward", options.reward, "Reward preset")->group(group);
  command.add_option("--load", options.load, "Load measure of presets ee and lb: pods, cpu, memory or disk")
      ->group(group);
  command.add_option("--expression", options.expression, "Formula of preset expression")->group(group);
}

}  // namespace wattle::cli
