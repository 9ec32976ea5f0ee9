// `wattle explain POD`: why a pod was placed where it was, and what became of it.
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/human.hpp"
#include "cli/parts.hpp"
#include "cli/show.hpp"
#include "common/printable.hpp"

namespace wattle::cli {

namespace {
const View* find_candidate(const std::vector<View>& candidates, const std::optional<std::string>& node) {
  for (const View& candidate : candidates)
    if (node && candidate["node"].text() == node) return &candidate;
  return nullptr;
}

std::string predicted_w(const View& candidate) {
  const auto value = candidate["marginal_w"].number();
  return value ? number(value, 1) + " W predicted" : std::string(kAbsent);
}

// "q -0.210 = prior -0.250 + residual 0.040, marginal 4.2 W predicted"
std::string worth_of(const View& candidate) {
  return "q " + number(candidate["q"].number(), 3) + " = prior " + number(candidate["prior"].number(), 3) +
         " + residual " + number(candidate["residual"].number(), 3) + ", marginal " + predicted_w(candidate);
}

// What each of the two is the sum of.
std::string contributions(const View& decision) {
  std::string out;
  const auto add = [&](const char* title, const View& terms) {
    if (!terms.present()) return;
    out += std::string(title) + "energy " + number(terms["energy"].number(), 3) + ", latency " +
           number(terms["latency"].number(), 3) + ", learned " + number(terms["residual"].number(), 3) +
           "; ranked by " + number(terms["policy_value"].number(), 3);
    if (const auto spread = terms["uncertainty"].number())
      out += "; rewards have been " + number(*spread, 3) + " (sd) from Q";
    out += ".\n";
  };
  add("Best is made of:      ", decision["winner_terms"]);
  add("Runner-up is made of: ", decision["runner_up_terms"]);
  if (const auto demand = decision["demand_cores"].number())
    out += "The pod is reckoned with " + number(*demand, 3) + " cores.\n";
  return out;
}

// "network of step 1200, sha256 3f2a91c07d14, as loaded from promoted"; the digest is that of `wattle model list`.
std::string network_of(const View& decision) {
  const View model = decision["model"];
  const auto digest = model["network_sha256"].text();
  if (!digest) {
    const auto step = decision["model_step"].number();
    return step && *step > 0 ? "network of step " + count(step) : std::string("no network");
  }
  constexpr std::size_t kShown = 12;
  std::string text = "network of step " + count(model["step"].number()) + ", sha256 " + digest->substr(0, kShown);
  if (const auto name = model["loaded_from"].text()) text += ", as loaded from " + *name;
  return text;
}

std::string why(const View& decision, const std::vector<View>& candidates) {
  const auto advice = decision["advice"].text();
  const auto winner = decision["winner"].text();
  const auto runner_up = decision["runner_up"].text();
  std::string out;
  if (!advice)
    out += "No advice was given (" + decision["reason"].text_or() + "): kube-scheduler's own plugins decided.\n";
  else
    out += *advice + " got the top score by policy " + decision["policy"].text_or() + " (mode " +
           decision["mode"].text_or() + ", reason " + decision["reason"].text_or() + ", propensity " +
           number(decision["propensity"].number(), 2) + ", " + network_of(decision) + ").\n";
  if (decision["explored"].flag() == true && winner && advice && *winner != *advice)
    out += "It was explored: the network itself prefers " + *winner + ".\n";
  if (const View* best = find_candidate(candidates, winner); best != nullptr)
    out += "Best:      " + *winner + ", " + worth_of(*best) + ".\n";
  const View* next = find_candidate(candidates, runner_up);
  if (next != nullptr)
    out += "Runner-up: " + *runner_up + ", " + worth_of(*next) + ".\n";
  else
    out += "Runner-up: none.\n";
  out += contributions(decision);
  return out;
}

Table candidates_table(const std::vector<View>& candidates, const std::string& advice) {
  const auto right = Align::right;
  Table table{
      {{"NODE"}, {"SCORE", right}, {"Q", right}, {"PRIOR", right}, {"RESIDUAL", right}, {"MARGINAL"}, {"MASKED"}}, {}};
  for (const View& candidate : candidates) {
    const auto masked = candidate["masked"].text();
    const std::string node = candidate["node"].text_or();
    table.rows.push_back({{node, masked           ? Tone::faint
                                 : node == advice ? Tone::good
                                                  : Tone::plain},
                          count(candidate["score"].number()),
                          number(candidate["q"].number(), 3),
                          number(candidate["prior"].number(), 3),
                          number(candidate["residual"].number(), 3),
                          predicted_w(candidate),
                          {masked.value_or(""), Tone::warning}});
  }
  return table;
}

std::string features_text(const View& decision, bool colour) {
  const View features = decision["features"];
  if (!features.present()) return "Features: not kept for this decision.\n";
  const auto value_at = [](const std::vector<View>& values, std::size_t i) {
    return i < values.size() ? number(values[i].number(), 3) : std::string(kAbsent);
  };
  const auto names = features["names"].items();
  const auto winner = features["winner"].items();
  const auto runner_up = features["runner_up"].items();
  Table nodes{{{"FEATURE"},
               {decision["winner"].text_or("BEST"), Align::right},
               {decision["runner_up"].text_or("RUNNER-UP"), Align::right}},
              {}};
  for (std::size_t i = 0; i < names.size(); ++i)
    nodes.rows.push_back({names[i].text_or(), value_at(winner, i), value_at(runner_up, i)});
  const auto pod_names = features["pod_names"].items();
  const auto pod = features["pod"].items();
  Table of_pod{{{"POD FEATURE"}, {"VALUE", Align::right}}, {}};
  for (std::size_t i = 0; i < pod_names.size(); ++i) of_pod.rows.push_back({pod_names[i].text_or(), value_at(pod, i)});
  return to_text(nodes, colour) + "\n" + to_text(of_pod, colour);
}

std::string outcome_text(const View& decision, bool colour) {
  const auto placed = decision["placed_on"].text();
  std::string out =
      placed ? "It was placed on " + printable(*placed) : std::string("It has not been seen on any node yet");
  if (const auto advice = decision["advice"].text(); placed && advice && *placed != *advice)
    out += ", not on the node advised (" + printable(*advice) + ")";
  const View outcome = decision["outcome"];
  if (!outcome.present()) return out + "; the outcome is not settled yet.\n";
  out += "; reward " + number(outcome["reward"].number(), 3) + " on " + printable(outcome["node"].text_or()) +
         (outcome["end_of_episode"].flag() == true ? ", end of an episode" : "") + ".\n";
  Table table{{{"TERM"}, {"VALUE", Align::right}}, {}};
  for (const auto& [name, value] : outcome["terms"].members()) table.rows.push_back({name, value.any()});
  return table.rows.empty() ? out : out + "\n" + to_text(table, colour);
}
}  // namespace

Result<std::string> render_explain(const Json& document, const Style& style) {
  WATTLE_TRY(const View decision, View(document).object("decision"));
  WATTLE_TRY(const std::vector<View> candidates, decision.list("candidates"));
  std::string out = "Decision " + count(decision["id"].number()) + " for pod " +
                    pod_label(decision["pod_name"], decision["pod_namespace"], decision["pod_uid"]) + " at " +
                    utc(decision["wall_ns"].number()) + ", in " + microseconds(decision["decide_us"].number()) + "\n\n";
  out = printable_lines(out + why(decision, candidates));
  for (const View& problem : decision["problems"].items()) out += printable_lines("Problem: " + problem.any() + "\n");
  out += "\n" + to_text(candidates_table(candidates, decision["advice"].text_or("")), style.colour);
  out += "\n" + features_text(decision, style.colour);
  return out + "\n" + outcome_text(decision, style.colour);
}

void declare_explain(CLI::App& command, Arguments& arguments) {
  command.add_option("POD", arguments.pod, "Pod name, namespace/name, pod UID or decision id")->required();
}

int run_explain(const Invocation& invocation) {
  return show(invocation, "explain", {{"pod", invocation.arguments.pod}}, render_explain);
}

}  // namespace wattle::cli
